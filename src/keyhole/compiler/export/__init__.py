"""Compiled weights as files, PyTorch source, TransformerLens models and pictures."""

from keyhole.compiler.export.drawings import pictures as pictures
from keyhole.compiler.export.save import save_model as save_model
