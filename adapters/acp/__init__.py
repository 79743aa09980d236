"""Local agent runners: programs that take a whole task, over the Agent Client Protocol or as text.

`runner` is the entry. They are started through a launcher that the composition root hands in,
so that they are held as commands are.
"""
