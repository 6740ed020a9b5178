"""Training: stretches of steps, a reading after each, until the steps are used up or the stopping rule says so.

Rates, sample size and seed are traced: one compilation serves every run of one shape. What depends on the context
length is in two programs, because a run of a short context takes less time than compiling does: the stretch of steps,
and the network's answers. Starting weights are drawn for a padded context and cut, which changes none of them: of a
threefry generator each entry depends on its own place alone.

Readings are of the network on its training set and on the probe, of its attention and of its norms. Only the network's
outputs are compiled; all else is a little arithmetic on arrays of numpy, which takes longer to compile than to do.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from keyhole.arrays import Bool, Float, UInt8
from keyhole.attention import evaluate, tabulate
from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Fitted, Predictor, Reading
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import PADDING, Parameters, cls_vector, folded_query, spread_of_safety
from keyhole.training.network.compiling import compiled, own_settings, random_key
from keyhole.training.network.network import answer, initial, layer_norm, model_of
from keyhole.training.network.step import (
    Data,
    State,
    TrainingSet,
    draw_stretch,
    optimizer_of,
    padded_context,
    padded_size,
    prepare_set,
    prepare_source,
    rates_of,
    run_stretch,
)
from keyhole.training.task import PROBE, SET_PROBE, Examples, Observation, Observer, ProblemSize, SampleSource

FIRST = 1024  # rows of a training set that every reading looks at
MANY, FEW, LONG = 720, 256, 4096  # inputs answered in one call: many (a probe and 208 more), or few of long contexts
READINGS = ("step", "loss", "train_accuracy", "accuracy", "mass", "mass_best", "fourier", "spread", "norm", "movement")
Weights = Mapping[str, np.ndarray]
Row = dict[str, float]


@own_settings()
def train(
    settings: TransformerSettings,
    size: ProblemSize,
    examples: Examples | SampleSource,
    seed: np.random.SeedSequence,
    observer: Observer | None = None,
    begin: Callable[[Weights], Weights] | None = None,
) -> Fitted:
    """Train one network on a training set, or on fresh samples; `begin` changes the weights it starts from.

    On fresh samples, drawn inside the loop, it stops when the probe is answered without error; without an observer the
    probe is drawn from the source.
    """
    data, probe, start, walk = prepare(settings, examples, seed, observer, padded_context(settings, size.context))
    shape, rates = shape_of(settings), rates_of(settings)
    parameters = starting_parameters(shape, size.symbols, size.context, start)
    if begin is not None:
        parameters = {name: jnp.asarray(array) for name, array in begin(arrays_of(parameters)).items()}
    context = data.inputs.shape[1] if isinstance(data, TrainingSet) else size.context
    count = settings.batch or len(data.labels)  # type: ignore[union-attr]  # fresh samples come in batches
    draw, stretch = compiled(draw_stretch, data.draw, shape, count), compiled(run_stretch, shape, context)
    if observer is not None and observer.notice is not None:
        observer.notice({"step": 0.0}, arrays_of(parameters))
    return descend(
        settings,
        size.context,
        starting_state(shape, parameters, context),
        move=lambda state: stretch(data, rates, state, draw(data.size, walk, state.step)),
        read=reader(shape, data, probe, arrays_of(parameters)),
        predictor=lambda trained, weights, last: predictor_of(settings, size.context, trained, weights, last["spread"]),
        observer=observer,
    )


def prepare(
    settings: TransformerSettings,
    examples: Examples | SampleSource,
    seed: np.random.SeedSequence,
    observer: Observer | None,
    context: int | None = None,
) -> tuple[Data, Observation | None, Array, Array]:
    """Return the data (a set padded to this context), the probe, and the random keys of the start and of the steps."""
    words = seed.generate_state(4)
    rng = np.random.default_rng(words[0])
    start, walk = jax.random.split(random_key(int(words[1])))
    if isinstance(examples, Examples):
        probe = None if observer is None else observer.observe(SET_PROBE, rng)
        return prepare_set(examples, whole=not settings.batch, context=context), probe, start, walk
    if observer is not None:
        return prepare_source(examples), observer.observe(PROBE, rng), start, walk
    drawn = examples.draw(PROBE, rng)  # without a word of what is hidden
    probe = Observation(drawn.inputs, drawn.labels, np.zeros(0, dtype=np.int32), np.zeros((PROBE, 0)))
    return prepare_source(examples), probe, start, walk


def descend(
    settings: TransformerSettings,
    context: int,
    state: State,
    move: Callable[[State], tuple[State, Array]],
    read: Callable[[State, Array], Row],
    predictor: Callable[[Parameters, dict[str, np.ndarray], Row], Predictor],
    observer: Observer | None,
) -> Fitted:
    """Make stretches of `every` steps, with a reading after each, until the stopping rule holds.

    Training on a set stops when all of it is answered rightly with a loss at or below the tolerance. On fresh samples
    the probe has to be answered rightly, and a tolerance of 0 takes all steps.
    """
    rows: list[Row] = []
    while len(rows) * settings.every < settings.steps:
        state, losses = move(state)
        rows.append(read(state, losses))
        if observer is not None and observer.notice is not None:
            observer.notice(as_numbers(rows[-1]), arrays_of(state.parameters, context))
        last = rows[-1]
        if "train_accuracy" in last:
            done = last["train_accuracy"] == 1 and last["loss"] <= settings.tolerance
        else:
            done = settings.tolerance > 0 and last["accuracy"] == 1
        if done or not np.isfinite(last["norm"]):
            break
    weights = arrays_of(state.parameters, context)
    readings = tuple(map(as_numbers, rows))
    return Fitted(
        predict=predictor(state.parameters, weights, rows[-1]),
        steps=int(state.step),
        numbers={**readings[-1], "diverged": float(has_diverged(weights))},
        readings=readings,
        weights=weights,
    )


def starting_parameters(settings: TransformerSettings, symbols: int, context: int, key: Array) -> Parameters:
    """The weights before the first step."""
    padded = padded_size(context, whole=False)
    # with the usual options, so that weights at the start stay the same to the bit
    parameters: Parameters = compiled(initial, settings, symbols, padded, usual=True)(key)
    return parameters | {"positions": jnp.asarray(np.asarray(parameters["positions"])[:context])}


def starting_state(settings: TransformerSettings, parameters: Parameters, context: int) -> State:
    """The state before the first step, the positions padded to this context with zeros.

    The padding stays as it is: no sequence shows a symbol there, so no gradient comes, and zero does not decay.
    """
    positions = np.asarray(parameters["positions"])
    padded = np.pad(positions, ((0, context - len(positions)), (0, 0)))
    parameters = {**parameters, "positions": jnp.asarray(padded)}
    return State(parameters, resting_moments(settings, parameters), jnp.int32(0))


def resting_moments(settings: TransformerSettings, parameters: Parameters) -> Any:
    """Return the zeros that the optimizer starts from, without compiling anything for them."""
    form = jax.eval_shape(optimizer_of(settings).init, parameters)
    return jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), form)


def reader(
    settings: TransformerSettings, data: Data, probe: Observation | None, first: Weights
) -> Callable[[State, Array], Row]:
    """Return what takes the readings of a run that started from these weights."""
    context, padded, rows = len(first["positions"]), len(first["positions"]), np.zeros((0, 1), dtype=np.uint8)
    if isinstance(data, TrainingSet):
        padded, rows = data.inputs.shape[1], np.asarray(data.inputs)[: min(int(data.size), FIRST)]
    first_scores = scores_of(settings, first)
    blocks = blocks_of(padded, rows, *([] if probe is None else [probe.inputs]))

    def read(state: State, losses: Array) -> Row:
        weights = arrays_of(state.parameters, context)
        with np.errstate(all="ignore"):  # of a network that diverged
            scores = scores_of(settings, weights)
            row = {"step": float(state.step), "norm": weight_norm(weights), **read_scores(scores, first_scores)}
            outputs, log_mass = answers_to(settings, state.parameters, blocks)
            if isinstance(data, TrainingSet):
                row |= fit_to_set(settings, data, state.parameters, outputs[: len(rows)])
            else:
                row["loss"] = float(np.asarray(losses).mean())
            if probe is not None:
                part = slice(len(rows), len(rows) + len(probe.inputs))
                row |= {**read_probe(probe, outputs[part]), **read_mass(scores, probe, log_mass[part])}
        return row

    return read


def arrays_of(parameters: Parameters, context: int | None = None) -> dict[str, np.ndarray]:
    """The parameters as arrays of numpy, with positions up to this context, or all."""
    arrays = {name: np.asarray(array) for name, array in parameters.items()}
    return arrays | {"positions": arrays["positions"][:context]}


def fit_to_set(settings: TransformerSettings, data: TrainingSet, parameters: Parameters, outputs: np.ndarray) -> Row:
    """The loss and the share of right answers on the training set; of one that is not fitted, on its first rows.

    Whether every row is answered rightly decides when training stops, so all are read as soon as the first rows are.
    """
    size = int(data.size)
    inputs, labels = np.asarray(data.inputs), np.asarray(data.labels)
    first = read_set(labels[: len(outputs)], outputs)
    if size <= FIRST or first["train_accuracy"] < 1:
        return first
    return read_set(labels[:size], answers_of(settings, parameters, inputs[:size])[0])


def shape_of(settings: TransformerSettings) -> TransformerSettings:
    """The settings with everything that is traced blotted out: what decides the compiled program."""
    penalised = float(settings.path_penalty > 0)
    return replace(settings, rate=1.0, decay=0.0, warmup=0, steps=settings.every, tolerance=0.0, path_penalty=penalised)


def predictor_of(
    settings: TransformerSettings,
    context: int,
    parameters: Parameters,
    weights: dict[str, np.ndarray],
    spread: float,
) -> Predictor:
    """The network's answers, in blocks of one shape; scores beyond the product's safe range go by softmax.

    The spread is that of its last reading. A network that diverged answers 0 to everything.
    """
    if has_diverged(weights):
        return lambda inputs: np.zeros(len(inputs), dtype=bool)
    if not spread < spread_of_safety(settings, context):
        tabulated = tabulate(model_of(settings, weights))
        return lambda inputs: np.asarray(evaluate(tabulated, inputs)) > 0
    shape = shape_of(settings)

    def predict(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        if inputs.shape[1] != context:
            raise ArgumentError(
                f"Inputs of length {inputs.shape[1]} were given to a network of T = {context}; give that length."
            )
        return answers_of(shape, parameters, inputs)[0] > 0

    return predict


def answers_of(
    settings: TransformerSettings, parameters: Parameters, inputs: UInt8[np.ndarray, "n T"]
) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n H"]]:
    """The network's number for each input, and ln Σ_t exp(score) of each head."""
    outputs, log_mass = answers_to(settings, parameters, blocks_of(parameters["positions"].shape[0], inputs))
    return outputs[: len(inputs)], log_mass[: len(inputs)]


def blocks_of(context: int, *inputs: UInt8[np.ndarray, "_ _"]) -> list[UInt8[np.ndarray, "rows T"]]:
    """All inputs one below the other, padded to as many positions as the network has, in blocks of one shape."""
    rows, count = FEW if context >= LONG else MANY, sum(len(part) for part in inputs)
    padded = np.full((count + -count % rows, context), PADDING, dtype=np.uint8)
    start = 0
    for part in inputs:
        padded[start : start + len(part), : part.shape[1]] = part
        start += len(part)
    return [padded[start : start + rows] for start in range(0, len(padded), rows)]


@own_settings()
def answers_to(
    settings: TransformerSettings, parameters: Parameters, blocks: list[UInt8[np.ndarray, "rows T"]]
) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n H"]]:
    """The network's number for each row of the blocks, and ln Σ_t exp(score) of each head; of padding too."""
    program = compiled(answer, settings)
    parts = [program(parameters, block) for block in blocks]
    outputs, log_mass = (np.concatenate([np.asarray(part[i]) for part in parts]) for i in (0, 1))
    return outputs, log_mass


def has_diverged(weights: dict[str, np.ndarray]) -> bool:
    """Return whether some weight is not finite."""
    return not all(np.isfinite(array).all() for array in weights.values())


def scores_of(settings: TransformerSettings, weights: Weights) -> Float[np.ndarray, "A T1 H"]:
    """The score of every symbol at every position for each head, [CLS] last."""
    cls, tokens, positions = cls_vector(settings, weights), weights["tokens"], weights["positions"]
    norm = layer_norm(settings, weights, "attention_norm") if settings.norm == "pre" else None
    if norm is None:
        folded = folded_query(settings, weights, cls)
        scores = (tokens @ folded)[:, None, :] + (positions @ folded)[None, :, :]
    else:
        cls = norm(cls)
        folded = folded_query(settings, weights, cls)
        scores = norm(tokens[:, None, :] + positions[None, :, :]) @ folded
    of_cls = np.broadcast_to(cls @ folded, (len(tokens), 1, settings.heads))
    return np.concatenate([scores, of_cls], axis=1)


def read_scores(scores: Float[np.ndarray, "A T1 H"], first: Float[np.ndarray, "A T1 H"]) -> Row:
    """Return the range of the largest score of a sequence (`spread`), and the largest change since the first scores."""
    high, low = scores.max(axis=(0, 1)), scores.min(axis=0).max(axis=0)
    return {"spread": float((high - low).max()), "movement": float(np.abs(scores - first).max())}


def read_probe(probe: Observation, outputs: Float[np.ndarray, "P"]) -> Row:
    """The share of right answers, and of Fourier weight on the target's own characters where these are given."""
    row = {"accuracy": float(((outputs > 0) == probe.labels).mean())}
    if probe.shows_target:
        centred = outputs - outputs.mean()
        weight, total = ((centred @ probe.characters) ** 2).sum(), (centred**2).sum()
        row["fourier"] = float(weight / max(total, 1e-30))
    return row


def read_mass(scores: Float[np.ndarray, "A T1 H"], probe: Observation, log_mass: Float[np.ndarray, "P H"]) -> Row:
    """The share of attention on the relevant positions: on average over the heads, and of the head with most."""
    if not probe.shows_target:
        return {}
    symbols = probe.inputs[:, probe.positions]
    shares = np.exp(scores[symbols, probe.positions] - log_mass[:, None, :]).sum(axis=1).mean(axis=0)
    return {"mass": float(shares.mean()), "mass_best": float(shares.max())}


def read_set(labels: Float[np.ndarray, "m"], outputs: Float[np.ndarray, "m"]) -> Row:
    """The loss and the share of right answers on the training set."""
    losses = np.logaddexp(0.0, outputs) - labels * outputs
    return {"loss": float(losses.mean()), "train_accuracy": float(((outputs > 0) == (labels > 0)).mean())}


def weight_norm(weights: Weights) -> float:
    """The length of all weights as one vector."""
    return math.sqrt(sum(float(np.vdot(array, array)) for array in weights.values()))


def as_numbers(row: Row) -> Reading:
    """One reading in the order of READINGS; what is not finite is left out."""
    return {name: row[name] for name in READINGS if name in row and math.isfinite(row[name])}
