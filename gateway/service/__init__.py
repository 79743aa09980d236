"""Pursuit as a service of systemd: what it tells the service manager, and the unit files."""
