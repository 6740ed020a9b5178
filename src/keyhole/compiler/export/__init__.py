"""Compiled weights as files, PyTorch source, TransformerLens models and a figure."""

from keyhole.compiler.export.attention_figure import attention_figure as attention_figure
from keyhole.compiler.export.model_file import save_model as save_model
