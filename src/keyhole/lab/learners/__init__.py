"""Learners: the one-layer transformer trained by gradient descent, and baselines without gradients."""
