"""Attention over long contexts without T by T matrices."""
