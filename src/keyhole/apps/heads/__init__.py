"""Heads of checkpoints: what they do on data, their norms, their order, the estimators of their values."""
