"""Is the preset `paper` the public reproduction's protocol? Its runs beside a plain PyTorch replica of that protocol.

The public reproduction (Neuromatch's course on NeuroAI, after Edelman et al., 2022) trains one pre-norm block on the
AND of three bits, with bits so biased that half of the labels are 1. The replica below is written from its description,
in plain PyTorch and without anything of keyhole: tokens looked up one by one, keys and values of every token, dropout
by nn.Dropout, the optimiser torch.optim.Adam. It draws its own data, and it is judged as the preset is, on 10,000 fresh
inputs; beside that stands the reproduction's own rule, more than 99 % of 1,000 inputs whose labels are balanced.

Only the row of attention that is read is computed, at [CLS]: the other rows reach nothing. In one thing it follows the
reproduction's notebook and not its script, which hands raw outputs to a loss of probabilities: the loss is the
cross-entropy of the sigmoid of the output.

For each (T, m) the successes of both are printed with exact 95 % intervals, Fisher's exact p-value for the hypothesis
that both succeed equally often, and the power of that test: the difference between the preset's share, as measured, and
the replica's that it would find four times in five, at 5 %. Runs are kept in a file, and not made again.

    python bench/protocol.py                20 runs of each at four (T, m): about 15 minutes on one core
    python bench/protocol.py --runs 2       fewer
    python bench/protocol.py --only replica the replica's runs alone
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
    os.environ[name] = "1"

import argparse
import json
import math
import time
from pathlib import Path

import torch
from scipy.stats import binom, binomtest, fisher_exact
from torch import nn

CELLS = ((10, 15), (20, 20), (50, 30), (200, 63))  # (T, m), near the half-way point of each context
WIDTH, HEADS, HIDDEN, DROPOUT, SPREAD, EPS = 64, 16, 64, 0.1, 0.02, 1e-6
EPOCHS, RATE, DECAY = 1000, 1e-3, 1e-4
CHANCE = 0.5 ** (1 / 3)  # of a 1: three of them are 1 half of the time
TRIES = 100  # training sets drawn at most


class Replica(nn.Module):
    """One pre-norm block read at [CLS], which comes last."""

    def __init__(self, context: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(2, WIDTH)
        self.cls = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.zeros(1, context + 1, WIDTH))
        self.attention_norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.weights_dropout = nn.Dropout(DROPOUT)
        self.output, self.output_dropout = nn.Linear(WIDTH, WIDTH), nn.Dropout(DROPOUT)
        self.feedforward_norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.inner, self.outer = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.outer_dropout = nn.Dropout(DROPOUT)
        self.final_norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.readout = nn.Linear(WIDTH, 1)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.zeros_(part.bias)
            if isinstance(part, nn.Linear | nn.Embedding):
                nn.init.normal_(part.weight, std=SPREAD)
        for vectors in (self.cls, self.positions):
            nn.init.normal_(vectors, std=SPREAD)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """A number for each row of bits."""
        n, width = len(inputs), WIDTH // HEADS
        rows = torch.cat([self.tokens(inputs), self.cls.expand(n, -1, -1)], dim=1) + self.positions
        normed = self.attention_norm(rows)
        asked = self.query(normed[:, -1]).view(n, 1, HEADS, width)
        scores = (asked * self.key(normed).view(n, -1, HEADS, width)).sum(-1) / math.sqrt(width)
        weights = self.weights_dropout(scores.softmax(dim=1))
        mixed = (weights[..., None] * self.value(normed).view(n, -1, HEADS, width)).sum(1).reshape(n, WIDTH)
        stream = rows[:, -1] + self.output_dropout(self.output(mixed))
        fed = self.outer(nn.functional.gelu(self.inner(self.feedforward_norm(stream))))
        stream = stream + self.outer_dropout(fed)
        return self.readout(self.final_norm(stream))[:, 0]


def draw(places: torch.Tensor, context: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of biased bits, and the AND of the chosen ones."""
    inputs = (torch.rand(count, context) < CHANCE).long()
    return inputs, inputs[:, places].all(dim=1).float()


def training_set(places: torch.Tensor, context: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A training set: 40 to 60 % of the labels are 1, and no other column repeats a relevant one."""
    for _ in range(TRIES):
        inputs, labels = draw(places, context, count)
        alike = (inputs[:, :, None] == inputs[:, None, places]).all(dim=0).sum()
        if 0.4 <= float(labels.mean()) <= 0.6 and int(alike) == len(places):
            break
    return inputs, labels


def balanced_inputs(places: torch.Tensor, context: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Fresh inputs of which 40 to 60 % have the label 1."""
    while True:
        inputs, labels = draw(places, context, count)
        if 0.4 <= float(labels.mean()) <= 0.6:
            return inputs, labels


def replica_run(context: int, samples: int, seed: int) -> dict[str, float]:
    """Train one replica; the share of fresh inputs it answers rightly, and of the reproduction's own validation set."""
    torch.manual_seed(seed)
    places = torch.randperm(context)[:3]
    inputs, labels = training_set(places, context, samples)
    network = Replica(context)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.999), weight_decay=DECAY, fused=True)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(network(inputs), labels).backward()
        optimizer.step()
    network.eval()
    return {
        "accuracy": accuracy(network, *draw(places, context, 10_000)),
        "theirs": accuracy(network, *balanced_inputs(places, context, 1000)),
        "train": accuracy(network, inputs, labels),
    }


def accuracy(network: Replica, inputs: torch.Tensor, labels: torch.Tensor) -> float:
    """The share of rows answered rightly."""
    with torch.no_grad():
        answers = torch.cat([network(part) > 0 for part in inputs.split(500)])
    return float((answers == (labels > 0)).double().mean())


def preset_run(context: int, samples: int, seed: int) -> dict[str, float]:
    """One run of the preset, as `keyhole learn and:3 --preset paper` makes it."""
    from keyhole.sweeps.runs.run import RunSpec, run
    from keyhole.training.learners import transformer_with_preset
    from keyhole.training.task import SparseTask

    task = SparseTask("and:3", "balanced", balanced_sets=True)
    result = run(RunSpec(task, transformer_with_preset("paper"), context, samples, seed))
    return {"accuracy": result.accuracy, "train": float(result.train_accuracy or 0.0)}


def losses_apart(context: int, samples: int, steps: int) -> float:
    """The largest difference of the losses of both over some steps, from the same weights and without dropout."""
    from dataclasses import replace

    import jax
    import jax.numpy as jnp
    import numpy as np

    from keyhole.training.learners import preset
    from keyhole.training.network.dropping import NO_DROPOUT
    from keyhole.training.network.network import initial
    from keyhole.training.network.step import State, advance, optimizer_of, rates_of

    settings = replace(preset("paper"), dropout=0.0, attention_dropout=0.0)
    parameters = initial(settings, 2, context, jax.random.key(0))
    network = Replica(context)
    network.eval()  # no dropout
    with torch.no_grad():
        for name, array in parameters.items():
            _replicated(network, name).copy_(
                torch.from_numpy(np.array(array)).reshape(_replicated(network, name).shape)
            )
        for part in (network.query, network.key, network.value, network.output, network.inner, network.outer):
            part.weight.copy_(part.weight.T.clone())  # inputs times weights, there; weights times inputs, here
    torch.manual_seed(0)
    inputs, labels = training_set(torch.tensor([0, 1, 2]), context, samples)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.999), weight_decay=DECAY)
    state = State(parameters, optimizer_of(settings).init(parameters), jnp.int32(0))
    batch = jnp.asarray(inputs.numpy(), jnp.uint8), jnp.asarray(labels.numpy()), jnp.full(samples, 1 / samples)
    apart = 0.0
    for _ in range(steps):
        state, ours = advance(settings, optimizer_of(settings), rates_of(settings), state, batch, NO_DROPOUT)
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(network(inputs), labels)
        loss.backward()
        optimizer.step()
        apart = max(apart, abs(float(ours) - float(loss.detach())))
    return apart


def _replicated(network: Replica, name: str) -> torch.Tensor:
    """The parameter of the replica that one of ours is; a key bias is left at 0, which no softmax feels."""
    if name in {"cls", "cls_position"}:
        return network.cls if name == "cls" else network.positions[:, -1]
    if name == "positions":
        return network.positions[:, :-1]
    if name == "tokens":
        return network.tokens.weight
    part, _, kind = name.rpartition("_")
    if kind in {"gain", "bias"} and part:
        return getattr(getattr(network, part), "weight" if kind == "gain" else "bias")
    return getattr(network, name).weight


RUNNERS = {"replica": replica_run, "preset": preset_run}


def make_runs(path: Path, count: int, only: str | None) -> dict[str, dict[str, float]]:
    """Every run that is not in the file yet, and all of them."""
    found = json.loads(path.read_text()) if path.exists() else {}
    wanted = [(s, *cell, who) for s in range(count) for cell in CELLS for who in RUNNERS if only in (None, who)]
    for seed, context, samples, who in wanted:
        name = f"{who} T={context} m={samples} seed={seed}"
        if name in found:
            continue
        began = time.process_time()
        found[name] = RUNNERS[who](context, samples, seed)
        path.write_text(json.dumps(found, indent=0))
        print(f"{name}: {found[name]}, {time.process_time() - began:.1f} s", flush=True)
    return found


def table(found: dict[str, dict[str, float]], count: int) -> list[str]:
    """A line for each (T, m) of which both have runs."""
    lines = ["   T    m    replica              preset               p      power          replica by its own rule"]
    for context, samples in CELLS:
        runs = {
            who: [found[key] for s in range(count) if (key := f"{who} T={context} m={samples} seed={s}") in found]
            for who in RUNNERS
        }
        wins = {who: sum(run["accuracy"] >= 0.99 for run in made) for who, made in runs.items()}
        shown = {who: _share(wins[who], len(made)) for who, made in runs.items()}
        p = math.nan
        if all(runs.values()):
            p = fisher_exact([[wins[who], len(runs[who]) - wins[who]] for who in RUNNERS]).pvalue
        own = sum(run["theirs"] > 0.99 for run in runs["replica"])
        seen = found_difference(wins["preset"] / max(1, len(runs["preset"])), len(runs["replica"]), len(runs["preset"]))
        lines.append(
            f"{context:>4} {samples:>4}    {shown['replica']:<20} {shown['preset']:<20} {p:.3f}  {seen}  {own}"
        )
    return lines


def found_difference(share: float, runs: int, others: int) -> str:
    """How far a share of successes must lie below or above this one for Fisher's test to find it four times in five."""
    if not runs or not others:
        return "–"
    wins, apart = range(runs + 1), range(others + 1)
    rejects = [[fisher_exact([[w, runs - w], [v, others - v]]).pvalue < 0.05 for v in apart] for w in wins]
    theirs = binom.pmf(list(apart), others, share)

    def power(other: float) -> float:
        return float(binom.pmf(list(wins), runs, other) @ rejects @ theirs)

    low = next((d for d in range(1, 100) if d <= 100 * share and power(share - d / 100) >= 0.8), None)
    high = next((d for d in range(1, 100) if d <= 100 * (1 - share) and power(share + d / 100) >= 0.8), None)
    return ", ".join(f"{sign}.{d:02d}" if d else f"{sign}none" for sign, d in (("−", low), ("+", high)))


def _share(wins: int, runs: int) -> str:
    if not runs:
        return "no runs"
    ends = binomtest(wins, runs).proportion_ci(0.95, "exact")
    return f"{wins} of {runs} ({ends.low:.2f}–{ends.high:.2f})"


def main() -> None:
    """Make the runs and print the table."""
    asked = argparse.ArgumentParser(description="The preset `paper` beside a plain PyTorch replica of its protocol.")
    asked.add_argument("--runs", type=int, default=20, help="of each, at each (T, m)")
    asked.add_argument("--only", choices=tuple(RUNNERS), help="make the runs of one of them only")
    asked.add_argument("--file", type=Path, default=Path("protocol-runs.json"), help="where runs are kept")
    options = asked.parse_args()
    torch.set_num_threads(1)
    found = make_runs(options.file, options.runs, options.only)
    print(*table(found, options.runs), sep="\n")


if __name__ == "__main__":
    main()
