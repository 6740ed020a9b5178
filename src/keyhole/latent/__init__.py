"""Exchangeable latent-variable models, and attention judged as an estimator of their posteriors."""
