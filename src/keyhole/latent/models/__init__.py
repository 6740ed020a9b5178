"""Exchangeable latent-variable models with exact posteriors."""
