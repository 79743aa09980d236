"""A lane's folder: files, commands and the sandbox round them."""
