"""What each number format keeps of a compiled function."""
