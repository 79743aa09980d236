"""Delegation: children with a task of their own, and the independent check of their work."""
