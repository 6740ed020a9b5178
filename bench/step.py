"""What stands between a training step at long contexts and the machine's own limit: the parts of a step, each alone.

One process pinned to one core; milliseconds of CPU time, the least of several repeats, at batch 64 and 512 and four
heads. A product's "share" is its rate over the best sgemm of the same run. Parts are compiled by themselves, so XLA
fuses them otherwise than in a step: they show where time can go, and need not add up to it.

    python bench/step.py          about a minute
"""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import shown_sums, weighted
from keyhole.training.network.compiling import OPTIONS
from keyhole.training.network.network import initial
from keyhole.training.network.step import (
    State,
    TrainingSet,
    advance,
    draw_stretch,
    optimizer_of,
    prepare_set,
    rates_of,
    run_stretch,
)
from keyhole.training.task import SparseTask

WIDTH, HIDDEN, HEADS, SAMPLES, STEPS = 64, 256, 4, 1024, 20
CELLS = ((800, 64), (800, 512), (3200, 64), (12800, 64))


def least(call: Callable[[], Any], *, seconds: float = 0.4) -> float:
    """Milliseconds of CPU time of one call, the least of several."""
    jax.block_until_ready(call())
    times: list[float] = []
    while len(times) < 5 or sum(times) < seconds:
        began = time.process_time()
        jax.block_until_ready(call())
        times.append(time.process_time() - began)
    return 1e3 * min(times)


def timed(function: Callable[..., Any], *arguments: Any) -> float:
    """Milliseconds of a function compiled by itself."""
    return least(partial(jax.jit(function, compiler_options=OPTIONS), *arguments))


def sgemm_peak() -> float:
    """The best rate of a square product in single precision, in operations a second."""
    rates = []
    for n in (512, 1024):
        square = np.random.default_rng(0).random((n, n), dtype=np.float32)
        array = jnp.asarray(square)
        rates += [2e3 * n**3 / timed(jnp.matmul, array, array), 2e3 * n**3 / least(lambda s=square: s @ s)]
    return max(rates)


def measure(context: int, batch: int, peak: float) -> None:
    """Print the parts of a step at one context and batch."""
    settings = TransformerSettings(
        heads=HEADS,
        width=WIDTH,
        hidden=HIDDEN,
        norm="post",
        rate=1e-3,
        decay=0.0,
        batch=batch,
        every=STEPS,
        steps=STEPS,
    )
    rng = np.random.default_rng(0)
    data = prepare_set(SparseTask("and:3").instance(context, rng).training_set(SAMPLES, rng), whole=False)
    optimizer, rates, key = optimizer_of(settings), rates_of(settings), jax.random.key(1)
    parameters = initial(settings, 2, context, jax.random.key(0))
    state = State(parameters, optimizer.init(parameters), jnp.int32(0))
    draws = draw_stretch(TrainingSet.draw, settings, batch, data.size, key, state.step)
    whole = timed(partial(run_stretch, settings, context), data, rates, state, draws) / STEPS
    first = jax.tree.map(lambda drawn: drawn[0], draws)
    rows = data.batch(settings, context, first.batch)
    columns = WIDTH + HEADS
    table, back = (jnp.asarray(rng.random((columns, context), dtype=np.float32)) for _ in range(2))
    gradient = jnp.asarray(rng.random((batch, columns), dtype=np.float32))
    hot = rows[0].astype(jnp.float32)
    places = jnp.asarray(rng.random((WIDTH, context), dtype=np.float32))
    both = jnp.asarray(rng.random((WIDTH, columns), dtype=np.float32))
    big, small = 2 * batch * context * columns, 2 * context * WIDTH * columns
    gathered = timed(lambda d, r: (d[r] == 1).astype(jnp.float32), data.inputs, first.batch)
    alone = timed(partial(advance, settings, optimizer), rates, state, rows, first.dropout)
    parts = [
        ("bits × table", timed(lambda h, t: h @ t.T, hot, table), big),
        ("its slope: gradient × bits", timed(lambda g, h: g.T @ h, gradient, hot), big),
        ("keys and values × positions", timed(lambda b, p: b.T @ p, both, places), small),
        ("its slopes", timed(lambda b, p, g: (b @ g, g @ p.T), both, places, back), 2 * small),
        ("gathering rows as numbers", gathered, 0),
        ("exponentials, table", timed(table_of, back), 0),
        ("their slopes", timed(lambda b, g: jax.vjp(table_of, b)[1](g)[0], back, table), 0),
        ("sums by symbol and their slope", timed(jax.grad(squares), table, rows[0]), 0),
        ("Adam", timed(optimizer.update, parameters, state.moments, parameters), 0),
        ("one step, not in a stretch", alone, 0),
    ]  # fmt: skip
    counted = 2 * big + 3 * small + 6 * batch * (WIDTH**2 + 2 * WIDTH * HIDDEN)
    print(f"\nT = {context}, batch {batch}: {whole:.2f} ms a step, {1e3 * counted / whole / peak:.0%} of sgemm")
    for name, spent, operations in parts:
        share = f"{1e3 * operations / spent / peak:>5.0%} of sgemm" if operations else ""
        print(f"  {name:<38} {spent:>7.3f} ms {spent / whole:>5.0%} of a step  {share}", flush=True)


def squares(table: jax.Array, sequences: jax.Array) -> jax.Array:
    """A number whose slope in the table takes the sums by symbol there and back; no symbol scores more."""
    return (shown_sums(sequences, table, jnp.zeros((2, HEADS))) ** 2).sum()


def table_of(both: jax.Array) -> jax.Array:
    """The table that a batch is multiplied with, from values and scores of the positions below each other."""
    mass = jnp.exp(both[WIDTH:] - jax.lax.stop_gradient(both[WIDTH:]).max(axis=1, keepdims=True))
    return jnp.concatenate([weighted(mass, both[:WIDTH]), mass])


def main() -> None:
    """Print the parts of a step at every cell."""
    peak = sgemm_peak()
    print(f"best sgemm of this run: {peak / 1e9:.1f} GFLOP/s on one core; CPU ms")
    for context, batch in CELLS:
        measure(context, batch, peak)


if __name__ == "__main__":
    main()
