"""What was so at another time."""
