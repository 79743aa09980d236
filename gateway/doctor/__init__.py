"""`pursuit doctor`: looks at an installation, and says what is wrong and how to mend it.

Each module looks at one kind of thing and changes nothing. What needs an adapter is in
`gateway.compose.doctor`.
"""
