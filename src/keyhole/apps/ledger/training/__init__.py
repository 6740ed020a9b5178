"""Claims about what gradient descent finds."""
