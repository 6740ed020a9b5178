"""Proofs about models that answer step by step: right on every word of a claim, or the words that are wrong."""
