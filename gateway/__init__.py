"""The program: command line, settings, composition, and the async shells round the core."""
