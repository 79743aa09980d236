"""What tools are: definitions, argument schemas and the registry."""
