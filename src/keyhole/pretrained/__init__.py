"""Readers of weights that were stored or trained elsewhere: one architecture per file."""
