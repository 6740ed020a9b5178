"""A Boolean function in, exact weights and a proof for every input out; no training."""
