"""What does the deep theorem say of a two-layer network that was really trained?

Two attention layers with ReLU units, rows projected on the unit ball after each (the class of Theorem D),
are trained with Adam and weight decay on the AND of two bits among sixteen, from 500 uniform inputs. Printed: errors,
the gap of the loss that the theorem bounds (the output's distance from the label ±1, clipped to [0, 1]) on 20,000 fresh
inputs with its interval, the bound after training, norms peeled and trained tables paid for, and the samples that a gap
of ½ would take. It is expected to be vacuous by far, and reported for that.

Run it with `python bench/depth.py [--seed 0]`: about half a minute.
"""

import argparse
from math import log, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from keyhole.attention import forward, profile
from keyhole.attention.layers import Affine, FeedForward
from keyhole.attention.positions import LearnedPositions
from keyhole.attention.score import DenseScore
from keyhole.attention.tokens import AdditiveEmbedding
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.bounds import DEEP, guarantee
from keyhole.decimals import at_most

CONTEXT, WIDTH, UNITS, LAYERS = 16, 12, 12, 2
SAMPLES, FRESH, STEPS, RATE, DECAY, DELTA, LEVEL = 500, 20_000, 800, 0.01, 0.002, 0.01, 0.001


def start(key: Any) -> dict[str, Any]:
    """Random parameters."""
    shapes: dict[str, tuple[int, ...]] = {"table": (2, WIDTH), "places": (CONTEXT, WIDTH), "cls": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {f"score{layer}": (WIDTH, WIDTH), f"value{layer}": (WIDTH, UNITS), f"out{layer}": (UNITS, WIDTH)}
    shapes["readout"] = (WIDTH,)
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.normal(k, shape) / sqrt(WIDTH) for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def network(weights: dict[str, Any]) -> Model:
    """The parameters as a model of ours."""
    embedding = AdditiveEmbedding(weights["table"], LearnedPositions(weights["places"]), weights["cls"])
    blocks = tuple(
        Block(
            (Head(DenseScore(weights[f"score{i}"]), Affine(weights[f"value{i}"])),),
            Wiring(feedforward=FeedForward(outer=Affine(weights[f"out{i}"])), residual="block", projected=True),
        )
        for i in range(LAYERS)
    )
    return Model(embedding, blocks, ReadOut(weights["readout"]))


def loss_of(outputs: Any, labels: Any) -> Any:
    """The distance of the clipped output from the label, at most 1: 1-Lipschitz, and 1 where the sign is wrong."""
    return jnp.clip(jnp.abs(jnp.clip(outputs, -1, 1) - labels), 0, 1)


def train(inputs: np.ndarray, labels: np.ndarray, seed: int) -> dict[str, Any]:
    """Adam on the squared distance, the whole training set at each step."""
    weights = start(jax.random.key(seed))
    optimizer = optax.adamw(RATE, weight_decay=DECAY)
    state = optimizer.init(weights)
    x, y = jnp.asarray(inputs), jnp.asarray(labels)

    @jax.jit
    def step(weights: Any, state: Any) -> Any:
        gradient = jax.grad(lambda w: jnp.mean((forward(network(w), x) - y) ** 2))(weights)
        updates, state = optimizer.update(gradient, state, weights)
        return optax.apply_updates(weights, updates), state

    for _ in range(STEPS):
        weights, state = step(weights, state)
    return {name: np.asarray(array, dtype=np.float64) for name, array in weights.items()}


def main() -> None:
    """Train, measure, and ask the theorem."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seed", type=int, default=0)
    seed = asked.parse_args().seed
    rng = np.random.default_rng(seed)
    places = rng.choice(CONTEXT, 2, replace=False)
    inputs, fresh = (rng.integers(0, 2, (count, CONTEXT)) for count in (SAMPLES, FRESH))
    labels, truth = (2.0 * part[:, places].all(axis=1) - 1 for part in (inputs, fresh))
    model = network(train(inputs, labels, seed))
    seen, unseen = (np.asarray(forward(model, part)) for part in (inputs, fresh))
    losses, others = np.asarray(loss_of(seen, labels)), np.asarray(loss_of(unseen, truth))
    nats = log(4 / LEVEL)
    half = sqrt(2 * float(others.var(ddof=1)) * nats / FRESH) + 7 * nats / (3 * (FRESH - 1))
    wrong = [float((np.sign(f) != y).mean()) for f, y in ((seen, labels), (unseen, truth))]
    print(
        f"two layers trained on m = {SAMPLES}: wrong on {wrong[0]:.4f} of the training set, on {wrong[1]:.4f} of "
        "fresh inputs"
    )
    print(f"gap of the loss: {others.mean() - losses.mean():.5f} ± {half:.5f} ({100 * (1 - LEVEL):g} %)")
    norms = profile(model, trained=True)
    found = guarantee(DEEP, norms, SAMPLES, delta=DELTA, two_sided=False, measured=True)
    print(
        f"Theorem D: gap ≤ {at_most(found.value)}{', vacuous' if found.vacuous else ''}, with probability ≥ "
        f"{1 - DELTA:g}"
    )
    print(f"samples for a gap of 1/2, were the norms the same: {at_most(float(found.samples_for(0.5)))}")


if __name__ == "__main__":
    main()
