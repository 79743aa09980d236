"""A model that recites: what `pursuit eval` runs the agent on, with no network."""
