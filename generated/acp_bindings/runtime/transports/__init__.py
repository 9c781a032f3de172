"""What carries frames between two sides."""
