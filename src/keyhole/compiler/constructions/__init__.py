"""Constructions: how a sparse function becomes the scores, values and units of one attention layer."""
