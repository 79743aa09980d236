"""Models behind any OpenAI-compatible endpoint.

`Provider` owns the connections to one endpoint, `OpenAIModel` is one model of it behind the
`Model` port. Nothing else in the tree imports the SDK, which takes half a second to load; the
modules `options` and `prices` do without it.
"""
