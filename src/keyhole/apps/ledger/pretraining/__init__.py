"""Claims about learning the representation: supervised and masked training, and what they are good for."""
