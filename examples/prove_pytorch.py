"""Train a small Transformer with plain PyTorch, then ask keyhole what it computes on every input.

Run with: python examples/prove_pytorch.py (needs torch; about half a minute on one core)
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from safetensors.torch import save_file

import keyhole

CONTEXT, SAMPLES, WIDTH, HEADS = 50, 400, 32, 4


class Classifier(torch.nn.Module):
    """Tokens and positions added, [CLS] in front, one encoder layer, one number read at [CLS]."""

    def __init__(self, context: int) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(2, WIDTH)
        self.positions = torch.nn.Parameter(0.02 * torch.randn(context, WIDTH))
        self.cls = torch.nn.Parameter(0.02 * torch.randn(WIDTH))
        self.layer = torch.nn.TransformerEncoderLayer(
            WIDTH, HEADS, 2 * WIDTH, dropout=0.0, activation="relu", batch_first=True, norm_first=True
        )
        self.readout = torch.nn.Linear(WIDTH, 1)

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        """One number per row of bits; true above 0."""
        rows = self.tokens(bits) + self.positions
        rows = torch.cat([self.cls.expand(len(bits), 1, WIDTH), rows], dim=1)
        return self.readout(self.layer(rows)[:, 0])[:, 0]


DESCRIPTION = {"architecture": "TransformerEncoderLayer", "nhead": HEADS, "activation": "relu", "norm_first": True}


def train(context: int, samples: int, steps: int, seed: int) -> tuple[Classifier, np.ndarray, np.ndarray]:
    """A classifier of three hidden bits, fitted to uniform inputs labelled by their conjunction."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    hidden = rng.choice(context, 3, replace=False)
    inputs = rng.integers(0, 2, (samples, context))
    labels = inputs[:, hidden].all(axis=1)
    model, target = Classifier(context), torch.asarray(labels, dtype=torch.float32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(torch.asarray(inputs)), target)
        loss.backward()
        optimiser.step()
    print(f"trained on {samples} inputs of {context} bits; hidden: {sorted(hidden.tolist())}; loss {loss.item():.2g}")
    return model, inputs, labels


def main(context: int = CONTEXT, samples: int = SAMPLES, steps: int = 150, seed: int = 0) -> None:
    """Train outside, prove inside."""
    torch.set_num_threads(1)
    model, inputs, labels = train(context, samples, steps, seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        save_file(model.state_dict(), path)
        with torch.no_grad():  # some outputs of the original, by which keyhole tests the description
            probes = {"inputs": inputs[:8].tolist(), "outputs": model.eval()(torch.asarray(inputs[:8])).tolist()}
        path.with_suffix(".json").write_text(json.dumps(DESCRIPTION | {"context": context, "probes": probes}))
        proof = keyhole.prove(path, (inputs, labels), assume_junta=3)
        print(f"The model as it was trained:\n{proof}")
        if proof.answer_is_no:
            repaired = keyhole.prove(path, (inputs, labels), assume_junta=3, repair=True)
            print(f"\nAnother model, its attention sharpened until it has a proof:\n{repaired}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
