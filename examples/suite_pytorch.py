"""A suite of certified models as plain PyTorch modules, and a method that looks for the positions that matter.

Each model is one file that needs torch alone; its class is `Compiled`. Put your own method in place of `flips`.

Run with: python examples/suite_pytorch.py
"""

import runpy
import tempfile
from pathlib import Path

import numpy as np
import torch

from keyhole.apps.tables.score import score
from keyhole.apps.tables.suites import make_suite

CONTEXT, MODELS, INPUTS = 16, 6, 200


def flips(model: torch.nn.Module, bits: torch.Tensor) -> np.ndarray:
    """How far the output moves when one bit is flipped: the method under test, here one that is right."""
    with torch.no_grad():
        before, moved = model(bits), []
        for place in range(bits.shape[1]):
            flipped = bits.clone()
            flipped[:, place] = 1 - flipped[:, place]
            moved.append(model(flipped) - before)
    return torch.stack(moved, dim=1).numpy().round(9)  # rounding is no response


def main() -> None:
    """Write the suite, run every module, attribute, score."""
    bits = torch.randint(0, 2, (INPUTS, CONTEXT), generator=torch.Generator().manual_seed(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        key = make_suite(MODELS, CONTEXT).save(folder, modules=True)
        for file in sorted(folder.glob("*.py")):
            module = runpy.run_path(str(file))["Compiled"]()
            np.save(folder / f"{file.stem}.npy", flips(module, bits))
        print(score(key, folder))


if __name__ == "__main__":
    main()
