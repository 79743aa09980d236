"""Discord through discord.py."""
