"""What Pursuit is: values, rules and ports.

Nothing here does I/O, reads a clock or names an SDK; `adapters` do that, and `gateway` puts
both together.
"""
