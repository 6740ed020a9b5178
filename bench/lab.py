"""How fast one training step is: this trainer, PyTorch three ways, and the machine's own limit, in one run.

One process pinned to one core; milliseconds of CPU time, the least of several repeats. The model is one post-norm
encoder layer (d = 64, 256 hidden units, GELU) read at [CLS], Adam, forward + backward + update. The peers:

layer      a plain PyTorch loop around nn.TransformerEncoderLayer, read at [CLS]
query      PyTorch, attention for the [CLS] query alone
tabulated  PyTorch, the batch as one matrix product with tables over pairs of symbol and position

layer/ours is the whole gain; layer/tabulated the share of tables; tabulated/ours that of the library, and of a table
over positions alone, which has half as many rows. The tabulated peer sends T + A rows through the projections, as ours
does, and compares symbols as bytes. All peers have the fused Adam of
PyTorch; layer and query look tokens up by 64-bit numbers, as PyTorch wants them. None is compiled: a gain of
torch.compile would count to the library.

Floating-point operations counted: the two products with the batch of bits (2·2n·T·(64 + H)), output map and
feed-forward part (three products each: 6n·64² and 6n·2·64·256), and the tables (6T·64·(64 + H)). About half of those
with the bits are products with 0, done because a dense product is faster than a choice; the share of the peak counts
them as work, and "useful" is the share without them. Exponentials, norms, activations and Adam are not counted, so both
are what the counted products alone account for. Each target is printed beside what was measured.

    python bench/lab.py           every cell, about eight minutes
    python bench/lab.py --quick   the five cells that decide, about two minutes
"""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.compiling import OPTIONS
from keyhole.training.network.network import initial
from keyhole.training.network.step import (
    State,
    TrainingSet,
    draw_stretch,
    optimizer_of,
    prepare_set,
    rates_of,
    run_stretch,
)
from keyhole.training.task import SparseTask

WIDTH, HIDDEN, RATE = 64, 256, 1e-3
SAMPLES = 1024
SCAN = 20  # steps in one call of ours
LOSSES_AGREE = 1e-4
CONTEXTS, BATCHES, HEADS = (50, 200, 800), (64, 512), (1, 4, 16)
DECIDING = ((50, 64, 4), (200, 64, 4), (800, 64, 4), (200, 512, 4), (800, 512, 4))
WHOLE_TARGETS = {50: 40, 200: 120, 800: 400}  # layer/ours at least, at batch 64 and four heads
PEAK_TARGET = 0.30  # share of the best sgemm at least, at batch 512, four heads and T ≥ 200
EXPONENT_TARGET = 1.15  # of the cost of a step in T at most
GROWTH = (50, 100, 200, 400, 800, 1600, 3200, 6400, 12800)


def least(call: Callable[[], object], *, seconds: float = 1.0, fewest: int = 2) -> float:
    """The least CPU time of one call."""
    times: list[float] = []
    while len(times) < fewest or sum(times) < seconds:
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def sgemm_peak() -> tuple[float, str]:
    """The best rate of a square product in single precision, in operations a second, and whose it is."""
    best = (0.0, "")
    for n in (512, 1024, 2048):
        square = np.random.default_rng(0).random((n, n), dtype=np.float32)
        tensor, array, product = torch.from_numpy(square), jnp.asarray(square), jax.jit(jnp.matmul)
        product(array, array).block_until_ready()
        calls = {
            "numpy": partial(np.matmul, square, square),
            "torch": partial(torch.matmul, tensor, tensor),
            "jax": lambda product=product, array=array: product(array, array).block_until_ready(),
        }
        for name, call in calls.items():
            best = max(best, (2 * n**3 / least(call, seconds=0.3, fewest=5), name))
    return best


def settings_for(heads: int, batch: int) -> TransformerSettings:
    """The layer that every peer is."""
    return TransformerSettings(heads=heads, width=WIDTH, hidden=HIDDEN, norm="post", rate=RATE, decay=0.0, batch=batch)


class Ours:
    """The trainer of this laboratory: parameters, data and a compiled stretch of steps."""

    def __init__(self, context: int, batch: int, heads: int) -> None:
        self.settings = settings_for(heads, batch)
        rng = np.random.default_rng(0)
        instance = SparseTask("and:3").instance(context, rng)
        self.examples = instance.training_set(SAMPLES, rng)
        self.data, self.context = prepare_set(self.examples, whole=not batch), context
        self.rates = rates_of(self.settings)
        self.optimizer = optimizer_of(self.settings)
        self.parameters = initial(self.settings, 2, context, jax.random.key(0))
        self.key = jax.random.key(1)

    def start(self) -> State:
        """The state before the first step."""
        return State(self.parameters, self.optimizer.init(self.parameters), jnp.int32(0))

    def rows(self, step: int) -> np.ndarray:
        """The rows of the training set that this step sees: what `draw_stretch` draws."""
        draw, _ = jax.random.split(jax.random.fold_in(self.key, step))
        return np.asarray(jax.random.randint(draw, (self.settings.batch,), 0, SAMPLES))

    def steps(self, count: int) -> Callable[[State], tuple[State, jax.Array]]:
        """`count` steps as one compiled call: draws and stretch, which a run compiles apart."""
        settings = replace(self.settings, every=count, steps=count)

        def stretch(state: State) -> tuple[State, jax.Array]:
            draws = draw_stretch(TrainingSet.draw, settings, settings.batch, self.data.size, self.key, state.step)
            return run_stretch(settings, self.context, self.data, self.rates, state, draws)

        return jax.jit(stretch, compiler_options=OPTIONS)

    def milliseconds(self) -> float:
        """CPU time of one step."""
        stretch, state = self.steps(SCAN), self.start()
        jax.block_until_ready(stretch(state))
        return 1e3 * least(lambda: jax.block_until_ready(stretch(state))) / SCAN


class Peer(nn.Module):
    """The same layer in PyTorch with the same weights; `forward` differs from peer to peer."""

    def __init__(self, ours: Ours) -> None:
        super().__init__()
        w = {name: torch.tensor(np.asarray(array)) for name, array in ours.parameters.items()}
        self.heads = ours.settings.heads
        self.tokens, self.positions, self.cls = (nn.Parameter(w[name]) for name in ("tokens", "positions", "cls"))
        self.layer = nn.TransformerEncoderLayer(
            WIDTH, self.heads, HIDDEN, dropout=0.0, activation="gelu", batch_first=True, norm_first=False
        )
        self.readout, self.readout_bias = nn.Parameter(w["readout"]), nn.Parameter(w["readout_bias"])
        attention, zero = self.layer.self_attn, torch.zeros(WIDTH)
        loaded = {
            attention.in_proj_weight: torch.cat([w["query"].T, w["key"].T, w["value"].T]),
            attention.in_proj_bias: torch.cat([w["query_bias"], zero, w["value_bias"]]),
            attention.out_proj.weight: w["output"].T,
            attention.out_proj.bias: w["output_bias"],
            self.layer.linear1.weight: w["inner"].T,
            self.layer.linear1.bias: w["inner_bias"],
            self.layer.linear2.weight: w["outer"].T,
            self.layer.linear2.bias: w["outer_bias"],
        }
        with torch.no_grad():
            for parameter, value in loaded.items():
                parameter.copy_(value)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=RATE, fused=True)

    def read(self, row: torch.Tensor) -> torch.Tensor:
        """The rest of the layer at [CLS], from what its heads read."""
        layer = self.layer
        row = layer.norm1(self.cls + row @ layer.self_attn.out_proj.weight.T + layer.self_attn.out_proj.bias)
        row = layer.norm2(row + layer.linear2(nn.functional.gelu(layer.linear1(row))))
        return row @ self.readout + self.readout_bias

    def projections(self) -> tuple[torch.Tensor, ...]:
        """W_Q, W_K, W_V and their biases."""
        attention = self.layer.self_attn
        return (*attention.in_proj_weight.chunk(3), *attention.in_proj_bias.chunk(3))

    def train_step(self, inputs: torch.Tensor, labels: torch.Tensor) -> float:
        """One step of Adam; the loss before it."""
        self.optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(self(inputs), labels)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    @staticmethod
    def symbols(inputs: np.ndarray) -> torch.Tensor:
        """The inputs as this peer reads them: PyTorch looks up by 64-bit numbers."""
        return torch.from_numpy(inputs.astype(np.int64))


class Layer(Peer):
    """The whole encoder layer on every token, as people write it."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The output at [CLS]."""
        rows = self.tokens[inputs] + self.positions
        rows = torch.cat([rows, self.cls.expand(len(inputs), 1, -1)], dim=1)
        return self.layer(rows)[:, -1] @ self.readout + self.readout_bias


class Query(Peer):
    """Attention for the [CLS] query alone."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The output at [CLS]."""
        query, key, value, query_bias, key_bias, value_bias = self.projections()
        rows = torch.cat([self.tokens[inputs] + self.positions, self.cls.expand(len(inputs), 1, -1)], dim=1)
        n, width = len(inputs), WIDTH // self.heads
        asked = (self.cls @ query.T + query_bias).view(1, self.heads, 1, width).expand(n, -1, -1, -1)
        keys = (rows @ key.T + key_bias).view(n, -1, self.heads, width).transpose(1, 2)
        values = (rows @ value.T + value_bias).view(n, -1, self.heads, width).transpose(1, 2)
        mixed = nn.functional.scaled_dot_product_attention(asked, keys, values)
        return self.read(mixed.transpose(1, 2).reshape(n, WIDTH))


class Tabulated(Peer):
    """Tables in their library."""

    @staticmethod
    def symbols(inputs: np.ndarray) -> torch.Tensor:
        """The inputs as bytes, as ours has them."""
        return torch.from_numpy(inputs)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The output at [CLS]."""
        query, key, value, query_bias, _, value_bias = self.projections()
        heads, width, context = self.heads, WIDTH // self.heads, len(self.positions)
        asked = (self.cls @ query.T + query_bias) / math.sqrt(width)
        folded = (key * asked[:, None]).view(heads, width, WIDTH).sum(1)
        both = torch.cat([folded, value]).T
        symbols, places, cls = self.tokens @ both, self.positions @ both, self.cls @ both
        seen = torch.cat([(symbols[:, None, :] + places).flatten(0, 1), cls[None, :]])
        scores, values = seen[:, :heads], seen[:, heads:] + value_bias
        pairs = scores[:-1].detach().view(2, context, heads)
        low = torch.maximum(pairs.amin(0).amax(0), scores[-1].detach())
        mass = torch.exp(scores - (low + scores.detach().amax(0)) / 2)
        table = torch.cat([(mass[:, :, None] * values.view(-1, heads, width)).flatten(1), mass], dim=1)
        shown = torch.cat([inputs == 0, inputs == 1], dim=1).to(torch.float32)
        total = shown @ table[:-1] + table[-1]
        mixed = total[:, :WIDTH].view(-1, heads, width) / total[:, WIDTH:, None]
        return self.read(mixed.flatten(1))


PEERS = {"layer": Layer, "query": Query, "tabulated": Tabulated}


def operations(context: int, batch: int, heads: int) -> tuple[float, float]:
    """The counted floating-point operations of one step, and how many of them are products with a bit that is 0."""
    columns = WIDTH + heads
    of_bits = 4 * batch * context * columns
    rest = 6 * context * WIDTH * columns + 6 * batch * (WIDTH * WIDTH + 2 * WIDTH * HIDDEN)
    return of_bits + rest, of_bits / 2


def check_equal(ours: Ours, peer: Peer, count: int = 3) -> float:
    """The largest difference of the losses over the first steps."""
    _, losses = ours.steps(count)(ours.start())
    theirs = []
    for step in range(count):
        rows = ours.rows(step)
        inputs = peer.symbols(ours.examples.inputs[rows])
        theirs.append(peer.train_step(inputs, torch.from_numpy(ours.examples.labels[rows]).float()))
    return float(np.abs(np.asarray(losses) - theirs).max())


def measure(context: int, batch: int, heads: int, peak: float) -> tuple[float, float]:
    """One row: milliseconds of each, ratios, and the share of the peak; the whole gain and that share are returned."""
    ours = Ours(context, batch, heads)
    milliseconds = ours.milliseconds()
    labels = torch.from_numpy(ours.examples.labels[:batch]).float()
    theirs, apart = {}, 0.0
    for name, make in PEERS.items():
        peer = make(ours)
        apart = max(apart, check_equal(ours, peer, 1 if name == "layer" and context * batch > 2**17 else 3))
        inputs = peer.symbols(ours.examples.inputs[:batch])
        theirs[name] = 1e3 * least(partial(peer.train_step, inputs, labels))
    assert apart < LOSSES_AGREE, f"losses differ by {apart} at T={context}, n={batch}, H={heads}"
    counted, zeros = operations(context, batch, heads)
    rate = counted / milliseconds * 1e3
    layer, query, tabulated = theirs.values()
    print(
        f"{context:>5} {batch:>5} {heads:>3} {milliseconds:>8.2f} {layer:>9.1f} {query:>8.2f} {tabulated:>9.2f} "
        f"{layer / milliseconds:>7.0f}× {layer / tabulated:>7.0f}× {tabulated / milliseconds:>6.1f}× "
        f"{rate / 1e9:>6.1f} {rate / peak:>6.0%} {rate / peak * (1 - zeros / counted):>6.0%} {apart:>8.0e}",
        flush=True,
    )
    return layer / milliseconds, rate / peak


def growth() -> float:
    """How the cost of a step grows with T, at batch 64 and four heads."""
    times = [Ours(context, 64, 4).milliseconds() for context in GROWTH]
    slope = np.polyfit(np.log(GROWTH), np.log(times), 1)[0]
    print("\ncost of a step against T (batch 64, 4 heads)")
    for index, (context, spent) in enumerate(zip(GROWTH, times, strict=True)):
        local = (
            "" if not index else f"{math.log(spent / times[index - 1]) / math.log(context / GROWTH[index - 1]):+.2f}"
        )
        print(f"{context:>6} {spent:>8.2f} ms  local exponent {local}")
    print(f"fitted exponent {slope:.2f}")
    return float(slope)


def verdicts(found: dict[tuple[int, int, int], tuple[float, float]], exponent: float) -> list[str]:
    """Each target beside what was measured: met, or not met."""
    lines = []
    for context, target in WHOLE_TARGETS.items():
        whole, _ = found[context, 64, 4]
        asked = f"layer/ours at T = {context}, batch 64, 4 heads"
        lines.append(f"{asked}: at least {target}×, measured {whole:.0f}×: {_met(whole >= target)}")
    for context in (200, 800):
        _, share = found[context, 512, 4]
        asked = f"share of the best sgemm at T = {context}, batch 512, 4 heads"
        lines.append(f"{asked}: at least {PEAK_TARGET:.0%}, measured {share:.0%}: {_met(share >= PEAK_TARGET)}")
    met = _met(exponent <= EXPONENT_TARGET)
    lines.append(
        f"exponent in T over {GROWTH[0]} to {GROWTH[-1]}: at most {EXPONENT_TARGET}, measured {exponent:.2f}: {met}"
    )
    return lines


def _met(holds: bool) -> str:  # noqa: FBT001
    return "met" if holds else "not met"


def main() -> None:
    """Measure and print."""
    asked = argparse.ArgumentParser(description="One training step: ours, PyTorch three ways, the machine's limit.")
    asked.add_argument("--quick", action="store_true", help="only the cells that decide")
    quick = asked.parse_args().quick
    torch.set_num_threads(1)
    peak, whose = sgemm_peak()
    print(f"best sgemm of this run: {peak / 1e9:.1f} GFLOP/s on one core ({whose}); times in CPU ms a step\n")
    print(
        f"{'T':>5} {'batch':>5} {'H':>3} {'ours':>8} {'layer':>9} {'query':>8} {'tabulated':>9} {'whole':>8} "
        f"{'algor.':>8} {'libr.':>7} {'GF/s':>6} {'peak':>6} {'useful':>6} {'apart':>8}"
    )
    every = [(context, batch, heads) for context in CONTEXTS for batch in BATCHES for heads in HEADS]
    found = {cell: measure(*cell, peak) for cell in (DECIDING if quick else every)}
    print("\nhalf of the operations with the batch of bits are products with 0: peak counts them, useful does not")
    exponent = growth()
    print("\ntargets", *verdicts(found, exponent), sep="\n")


if __name__ == "__main__":
    main()
