"""Runs: what decides one, how it is executed, and the store that keeps it."""
