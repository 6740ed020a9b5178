"""Claims about what one head represents, and with which norms."""
