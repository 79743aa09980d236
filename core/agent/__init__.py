"""One turn: the loop over a model and its tools, and the transcript it writes."""
