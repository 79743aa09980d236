"""Evals: scripted tasks through the whole agent, and labelled rows for the models that judge."""
