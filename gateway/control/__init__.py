"""The running gateway's own door: a Unix socket in the data folder, for its user alone."""
