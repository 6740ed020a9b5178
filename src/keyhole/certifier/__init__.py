"""What a trained one-layer model computes, proved for every input, with an error bound from a sample."""
