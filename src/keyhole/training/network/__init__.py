"""Gradient descent for the transformer: the network, its data, and the compiled loop. Only these files import jax."""
