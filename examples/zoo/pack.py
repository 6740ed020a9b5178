"""Put trained folders of `train.py` together in one file of arrays, as `keyhole reproduce` reads them.

    python examples/zoo/pack.py zoo/majority-0 zoo/majority-1 --out models.npz

A tensor is stored under the folder's name, a slash and its own name; the configuration as text beside them.
"""

import argparse
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def main() -> None:
    """Read every folder, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    arrays: dict[str, np.ndarray] = {}
    for folder in asked.folders:
        arrays |= {f"{folder.name}/{name}": part for name, part in load_file(folder / "model.safetensors").items()}
        arrays[f"{folder.name}/config"] = np.array((folder / "config.json").read_text("utf8"))
    np.savez_compressed(asked.out, **arrays)
    print(f"wrote {len(asked.folders)} models to {asked.out}")


if __name__ == "__main__":
    main()
