"""A standing objective: its machine, contract, judge and texts."""
