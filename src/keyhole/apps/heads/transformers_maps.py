"""Attention maps of models that `transformers` runs, for architectures that our own forward pass lacks.

The package is asked for eager attention, since fused kernels never form a map. It reads the folder's own files, and
nothing is fetched from elsewhere; code that a folder brings along is not run.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.apps.heads.packages import packaged_folder
from keyhole.checkpoints import EmbeddingPart, Look, PositionCode, Prepared, Sizes
from keyhole.errors import CheckpointError, DataError

REDRAWN = "all weights drawn as they are before training"


@dataclass(frozen=True, eq=False)
class OutsideCheckpoint:
    """The sizes and wiring of a model that another package runs."""

    source: str
    architecture: str
    sizes: Sizes
    causal: bool
    embedding: EmbeddingPart = field(default_factory=EmbeddingPart)
    positions: PositionCode = field(default_factory=lambda: PositionCode("unknown"))


@dataclass(frozen=True, eq=False)
class OutsideModel:
    """A model that `transformers` runs; its rows are the numbers of tokens."""

    checkpoint: OutsideCheckpoint
    model: Any

    def embed(self, tokens: np.ndarray) -> np.ndarray:
        """Return the tokens as rows of one number."""
        known = int(self.model.get_input_embeddings().weight.shape[0])
        if tokens.ndim != 1 or not len(tokens) or tokens.min() < 0 or tokens.max() >= known:
            raise DataError(f"Tokens were given that {self.checkpoint.source} does not know; use its own tokenizer.")
        return np.asarray(tokens, dtype=np.float64)[:, None]

    def run(self, rows: np.ndarray, visible: np.ndarray | None = None, look: Look | None = None) -> np.ndarray:
        """Return the last rows; `look` sees each layer's maps."""
        import torch

        tokens = torch.from_numpy(rows[..., 0].astype(np.int64))
        mask = torch.ones_like(tokens) if visible is None else torch.from_numpy(visible.astype(np.int64))
        with torch.no_grad():
            outputs = self.model(input_ids=tokens, attention_mask=mask, output_attentions=True)
        maps = outputs.attentions
        if not maps or any(each is None for each in maps):
            raise CheckpointError(f"{self.checkpoint.source}: transformers gives no attention maps of this model.")
        for index, each in enumerate(maps):
            if look is not None:
                look(index, each.numpy())
        return np.asarray(outputs.last_hidden_state.numpy())


Runs = Prepared | OutsideModel


def outside_model(source: str | Path) -> OutsideModel:
    """Open a local folder in Hugging Face layout, or a packaged model by its name, with `transformers`.

    The model is causal if no layer has weight above the diagonal on a trial input.
    """
    import transformers

    folder = packaged_folder(source) or Path(source)
    if not folder.is_dir():
        raise CheckpointError(
            f"{str(source)!r} is not a folder; transformers reads one with a config.json and weights."
        )
    transformers.logging.set_verbosity_error()
    try:
        model = transformers.AutoModel.from_pretrained(
            str(folder), attn_implementation="eager", local_files_only=True, trust_remote_code=False
        ).eval()
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        raise CheckpointError(f"transformers does not read {str(source)!r}: {str(error).splitlines()[0]}") from error
    place, kind, matrices = str(folder), str(model.config.model_type), list[np.ndarray]()
    width = int(getattr(model.config, "hidden_size", 0) or 0)
    trial = OutsideModel(OutsideCheckpoint(place, kind, Sizes(0, 0, 0, width, 0, 0), causal=False), model)
    trial.run(trial.embed(np.arange(4))[None], look=lambda _, maps: matrices.append(maps))
    heads = matrices[0].shape[1]
    if any(maps.shape != matrices[0].shape or maps.shape[-1] != 4 for maps in matrices):
        raise CheckpointError(
            f"{place}: layers differ in their heads, or maps are not square; keyhole reads none such."
        )
    each = width // heads if heads else 0
    causal = all(not maps[..., ~np.tri(4, dtype=bool)].any() for maps in matrices)
    sizes = Sizes(len(matrices), heads, heads, width, each, each)
    return OutsideModel(OutsideCheckpoint(place, f"{kind}, run by transformers", sizes, causal), model)


def redrawn(model: OutsideModel, seed: int) -> OutsideModel:
    """Return the same architecture with weights drawn as they are before training."""
    import torch
    import transformers

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = transformers.AutoModel.from_config(model.model.config, attn_implementation="eager").eval()
    return OutsideModel(model.checkpoint, fresh)
