"""Training: stretches of steps, a reading after each, until the steps are used up or the stopping rule says so.

Rates, sample size and seed are traced: one compilation serves every run of one shape. What depends on the context
length is in two programs, because a run of a short context takes less time than compiling does: the stretch of steps,
and the network's answers. Starting weights are drawn for a padded context and cut, which changes none of them: of a
threefry generator each entry depends on its own place alone.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from keyhole.training.learners.base import Fitted, Predictor
from keyhole.training.learners.gradient import padded_size
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import Parameters
from keyhole.training.network.compiling import compiled, own_settings, random_key
from keyhole.training.network.network import initial
from keyhole.training.network.predict import (
    Row,
    Weights,
    answers_of,
    answers_to,
    as_numbers,
    blocks_of,
    has_diverged,
    predictor_of,
    read_mass,
    read_probe,
    read_scores,
    read_set,
    scores_of,
    shape_of,
    weight_norm,
)
from keyhole.training.network.step import (
    Data,
    State,
    TrainingSet,
    draw_stretch,
    optimizer_of,
    padded_context,
    prepare_set,
    prepare_source,
    rates_of,
    run_stretch,
)
from keyhole.training.task import PROBE, SET_PROBE, Examples, Observation, Observer, ProblemSize, SampleSource

FIRST = 1024  # rows of a training set that every reading looks at


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
