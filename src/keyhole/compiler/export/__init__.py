"""Compiled weights as files, PyTorch source, TransformerLens models and pictures."""
