"""Certified models with an answer key, and scores for attribution methods."""
