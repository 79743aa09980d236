"""The built-in web chat: one page, served by the gateway itself."""
