"""Attention as an estimator of the posterior mean: problems, kinds of attention, measured and exact errors."""
