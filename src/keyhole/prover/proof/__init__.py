"""Proofs over all inputs: tables, the relaxation's lower bound, and the search for a wrong input."""
