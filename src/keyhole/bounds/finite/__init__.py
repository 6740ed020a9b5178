"""Finite classes: Occam's bound, identification, binomial tails, information floors, PAC-Bayes."""
