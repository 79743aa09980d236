"""A turn's work without a chat: what happens as lines, and what came of it."""
