"""Tools of configured MCP servers: each server is a toolset `mcp:<name>`.

`servers` keeps them connected and does without the SDK, which takes about a second to load;
`wire` is the one way to it. Nothing else in the tree imports the SDK.
"""
