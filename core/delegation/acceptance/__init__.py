"""The independent check of a child's work: criteria, the host's own checks, and a judge."""
