"""The DoneGate chain: what an answer passes before its turn is done."""
