"""Claims about exchangeable tokens and the latent posterior."""
