"""What each chat command does."""
