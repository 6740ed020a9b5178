"""Covering numbers: linear classes, the calculus that composes them, heads, depth, and the entropy integral."""
