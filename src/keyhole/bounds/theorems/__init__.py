"""Theorems as guarantees: a bound with its derivation, the conditions it needs, and published rivals beside it."""
