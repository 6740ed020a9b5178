"""An architecture of one's own, described by a record: keyhole reads its checkpoints as it reads BERT's.

The model below is made up: its layers are called "stage", queries and keys lie packed for each head in turn, norms come
first. The record says so; the number of heads stands in the configuration under a name of its own.
"""

import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from keyhole.checkpoints import Architecture, Fields, load_checkpoint, register_architecture

OWN = Architecture(
    name="stages",
    tensors={
        "tokens": "symbols.weight",
        "positions": "places",
        "attention_norm": "stage.{layer}.before.*",
        "qkv": "stage.{layer}.look.*",
        "output": "stage.{layer}.write.*",
        "final_norm": "after.*",
        "unembedding": "answer.*",
    },
    packing="by head",
    fields=Fields(heads=("eyes",)),
    norm="rms",
    causal=True,
    unused={r"^seen$": "a counter of steps"},
)
register_architecture(OWN)  # now it is recognised by the names of its tensors


def write_model(path: Path, d: int = 8, layers: int = 2) -> None:
    """A random checkpoint with these names."""
    rng = np.random.default_rng(0)
    shapes = {"symbols.weight": (5, d), "places": (16, d), "after.weight": (d,), "answer.weight": (3, d), "seen": (1,)}
    for layer in range(layers):
        here = f"stage.{layer}"
        shapes |= {f"{here}.look.weight": (3 * d, d), f"{here}.write.weight": (d, d), f"{here}.before.weight": (d,)}
    save_file({name: rng.normal(size=shape) for name, shape in shapes.items()}, path)


with tempfile.TemporaryDirectory() as folder:
    write_model(Path(folder) / "model.safetensors")
    checkpoint = load_checkpoint(folder, config={"eyes": 2})
    print(f"{checkpoint.architecture}: {len(checkpoint.layers)} layers of {checkpoint.sizes.heads} heads")
    for each in checkpoint.unused:
        print(f"not used: {each.name}, {each.reason}")
    head = checkpoint.layers[1].heads[0]  # layer 2, head 1: arrays count from 0
    left, right = head.score_factors
    print(f"the score matrix of head 2-1 has the spectral norm {np.linalg.norm(left @ right.T, 2):.3f}")
