"""Loading of any local checkpoint as one `Checkpoint`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyhole.checkpoints.architectures import Architecture
from keyhole.checkpoints.checkpoint import Checkpoint
from keyhole.checkpoints.reading import read_checkpoint
from keyhole.checkpoints.weight_files import WeightFiles, in_memory, open_weights
from keyhole.errors import CheckpointError
from keyhole.files.model import FORMAT


def load_checkpoint(
    source: str | Path | Mapping[str, Any],
    *,
    architecture: Architecture | str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Read the weights of a model, in one form for all families; nothing of the files is run.

    `source` is a folder with a config.json and weights (safetensors, or torch's, in one file or several), one file of
    weights, or named arrays. The configuration or the names of the tensors say the family; otherwise give its name, or
    an `Architecture`. `config` adds settings that the files lack, such as {"num_attention_heads": 4}.

    >>> import numpy as np
    >>> names = ("W_Q", "W_K", "W_V", "W_O")
    >>> arrays = {f"blocks.0.attn.{name}": np.ones((2, 4, 3) if name != "W_O" else (2, 3, 4)) for name in names}
    >>> checkpoint = load_checkpoint(arrays)
    >>> checkpoint.architecture, checkpoint.sizes.heads, checkpoint.layers[0].heads[1].query.shape
    ('transformer lens', 2, (4, 3))
    """
    if isinstance(source, Mapping):
        files = WeightFiles("the arrays", in_memory(source), {})
    else:
        files = open_weights(Path(source))
    if files.notes.get("format") == FORMAT:
        raise CheckpointError(
            f"{files.source!r} was written by keyhole and holds the tables of a function, not the layers of a network; "
            "ask `keyhole check`, `keyhole heads` or `keyhole checkpoint norms`."
        )
    return read_checkpoint(replace(files, config={**files.config, **(config or {})}), architecture)
