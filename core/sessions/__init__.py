"""One lane's life: its rows, its phases, and what each event does to them."""
