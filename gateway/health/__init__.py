"""How the running program is: its vitals, its numbers, and the small server that shows them."""
