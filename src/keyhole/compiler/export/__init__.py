"""Compiled weights as files, PyTorch source, TransformerLens models and a figure."""

from keyhole.compiler.export.attention_figure import attention_figure as attention_figure
from keyhole.compiler.export.head_record import head_record as head_record
from keyhole.compiler.export.lens import to_lens as to_lens
from keyhole.compiler.export.model_file import save_model as save_model
from keyhole.compiler.export.torch_source import torch_source as torch_source
