"""What a person can ask: one file per verb, rooms joined, one value out."""
