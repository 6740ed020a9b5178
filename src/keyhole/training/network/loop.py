"""Training: stretches of steps, a reading after each, until the steps are used up or the stopping rule says so.

Rates, sample size and seed are traced: one compilation serves every run of one shape. What depends on the context
length is in two programs, because a run of a short context takes less time than compiling does: the stretch of steps,
and the network's answers. Starting weights are drawn for a padded context and cut, which changes none of them: of a
threefry generator each entry depends on its own place alone.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from keyhole.training.learners.base import Fitted
from keyhole.training.learners.memory import padded_size
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import Parameters
from keyhole.training.network.compiling import Program
from keyhole.training.network.network import initial
from keyhole.training.network.own_settings import own_settings, random_key
from keyhole.training.network.predict import answers_of, answers_to, blocks_of, has_diverged, predictor_of, shape_of
from keyhole.training.network.prepare import (
    FreshSamples,
    TrainingSet,
    draw_probe,
    padded_context,
    prepare_set,
    prepare_source,
)
from keyhole.training.network.readings import (
    OF_THE_PROBE,
    OF_THE_SET,
    Row,
    Weights,
    as_numbers,
    read_mass,
    read_probe,
    read_scores,
    read_set,
    scores_of,
    weight_norm,
)
from keyhole.training.network.step import (
    FRESH,
    FROM_A_SET,
    Data,
    Source,
    State,
    draw_stretch,
    optimizer_of,
    rates_of,
    run_stretch,
)
from keyhole.training.observation import Observation, Observer, SampleSource
from keyhole.training.task import Examples, ProblemSize

FIRST = 1024  # rows of a training set that every reading looks at
Begin = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]  # the usual starting weights in, those used out


class Form(NamedTuple):
    """What a training set and fresh samples do differently."""

    source: Source
    read_rows: Callable[[Data], np.ndarray]  # inputs that every reading looks at, besides the probe
    fit_so_far: Callable[[TransformerSettings, Data, Parameters, np.ndarray, Array], Row]  # given the outputs for them
    is_done: Callable[[float, Row], bool]


class Outset(NamedTuple):
    """What a training has before its first step."""

    form: Form
    data: Data
    probe: Observation | None  # what readings look at
    key: int  # of its random numbers
    left_out: set[str]  # readings that nobody asked for


def train(
    settings: TransformerSettings,
    size: ProblemSize,
    data: Examples | SampleSource,
    seed: np.random.SeedSequence,
    observer: Observer | None = None,
    begin: Begin | None = None,
) -> Fitted:
    """Train one network on a training set, or on fresh samples; `begin` changes the weights it starts from.

    On fresh samples, drawn inside the loop, it stops when the probe is answered without error; without an observer the
    probe is drawn from the source.
    """
    context = padded_context(settings, size.context)
    return _trained(settings, size, outset_of(settings, data, seed, observer, context), observer, begin)


def outset_of(
    settings: TransformerSettings,
    data: Examples | SampleSource,
    seed: np.random.SeedSequence,
    observer: Observer | None,
    context: int | None = None,
) -> Outset:
    """Training on a set of examples padded to this context (None: as it is), or fresh ones, before its first step."""
    if isinstance(data, Examples):
        return on_a_set(settings, data, seed, observer, context)
    return on_fresh_samples(data, seed, observer)


@own_settings()
def on_a_set(
    settings: TransformerSettings,
    examples: Examples,
    seed: np.random.SeedSequence,
    observer: Observer | None,
    context: int | None = None,
) -> Outset:
    """Training on a set of examples padded to this context (None: as it is), before its first step."""
    words = seed.generate_state(4)
    probe = draw_probe(observer, None, np.random.default_rng(words[0]))
    data = prepare_set(examples, whole=not settings.batch, context=context)
    return Outset(ON_A_SET, data, probe, int(words[1]), OF_THE_PROBE if observer is None else set())


@own_settings()
def on_fresh_samples(source: SampleSource, seed: np.random.SeedSequence, observer: Observer | None) -> Outset:
    """Training on fresh samples, before its first step."""
    words = seed.generate_state(4)
    probe = draw_probe(observer, source, np.random.default_rng(words[0]))
    left_out = OF_THE_SET | (OF_THE_PROBE - {"accuracy"} if observer is None else set())
    return Outset(ON_FRESH_SAMPLES, prepare_source(source), probe, int(words[1]), left_out)


@own_settings()
def _trained(
    settings: TransformerSettings,
    size: ProblemSize,
    outset: Outset,
    observer: Observer | None,
    begin: Begin | None,
) -> Fitted:
    """Steps in stretches of `every`, a reading after each."""
    form, data, probe, key, left_out = outset
    shape, rates = shape_of(settings), rates_of(settings)
    start, walk = jax.random.split(random_key(key))
    parameters = starting_parameters(shape, size.symbols, size.context, start)
    if begin is not None:
        parameters = {name: jnp.asarray(array) for name, array in begin(arrays_of(parameters)).items()}
    context = data.inputs.shape[1] if isinstance(data, TrainingSet) else size.context
    state = starting_state(shape, parameters, context)
    count = settings.batch or len(data.labels)
    drawn_from = data.size if isinstance(data, TrainingSet) else jnp.int32(0)
    draw = compiled_draws(form.source, shape, count)
    stretch = compiled_stretch(form.source, shape, context)
    read = _Reader(form, shape, data, probe, arrays_of(parameters))
    rows: list[Row] = []
    if observer is not None and observer.notice is not None:
        observer.notice({"step": 0.0}, arrays_of(parameters))
    while len(rows) * settings.every < settings.steps:
        state, losses = stretch(data, rates, state, draw(drawn_from, walk, state.step))
        rows.append(read(state, losses))
        if observer is not None and observer.notice is not None:
            observer.notice(as_numbers(rows[-1], left_out), arrays_of(state.parameters, size.context))
        if form.is_done(settings.tolerance, rows[-1]) or not np.isfinite(rows[-1]["norm"]):
            break
    weights = arrays_of(state.parameters, size.context)
    readings = tuple(as_numbers(row, left_out) for row in rows)
    return Fitted(
        predict=predictor_of(settings, size.context, state.parameters, weights, rows[-1]["spread"]),
        steps=int(state.step),
        numbers={**readings[-1], "diverged": float(has_diverged(weights))},
        readings=readings,
        weights=weights,
    )


def starting_parameters(settings: TransformerSettings, symbols: int, context: int, key: Array) -> Parameters:
    """The weights before the first step."""
    padded = padded_size(context, whole=False)
    parameters = dict(_compiled_start(settings, symbols, padded)(key))
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
    """What the optimizer remembers before the first step: zeros, made once, which nothing has to be compiled for."""
    return _zeros(settings, tuple((name, array.shape, str(array.dtype)) for name, array in parameters.items()))


@cache
def _zeros(settings: TransformerSettings, kinds: tuple[tuple[str, tuple[int, ...], str], ...]) -> Any:
    """The moments of parameters of these names, shapes and types."""
    like = {name: np.zeros(shape, dtype) for name, shape, dtype in kinds}
    form = jax.eval_shape(optimizer_of(settings).init, like)
    return jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), form)


class _Reader:
    """Takes readings of one run: it holds what they look at and compare with."""

    def __init__(
        self, form: Form, settings: TransformerSettings, data: Data, probe: Observation | None, first: Weights
    ) -> None:
        self.form, self.settings, self.data, self.probe = form, settings, data, probe
        self.context, self.first_scores = len(first["positions"]), scores_of(settings, first)
        rows = form.read_rows(data)
        self.count = len(rows)
        padded = data.inputs.shape[1] if isinstance(data, TrainingSet) else self.context
        self.blocks = blocks_of(padded, rows, *([] if probe is None else [probe.inputs]))

    def __call__(self, state: State, losses: Array) -> Row:
        weights = arrays_of(state.parameters, self.context)
        with np.errstate(all="ignore"):  # of a network that diverged
            scores = scores_of(self.settings, weights)
            row = {"step": float(state.step), "norm": weight_norm(weights), **read_scores(scores, self.first_scores)}
            outputs, log_mass = answers_to(self.settings, state.parameters, self.blocks)
            row |= self.form.fit_so_far(self.settings, self.data, state.parameters, outputs[: self.count], losses)
            if self.probe is not None:
                seen = slice(self.count, self.count + len(self.probe.inputs))
                row |= {**read_probe(self.probe, outputs[seen]), **read_mass(scores, self.probe, log_mass[seen])}
        return row


def arrays_of(parameters: Parameters, context: int | None = None) -> dict[str, np.ndarray]:
    """The parameters as arrays of numpy, with positions up to this context, or all."""
    arrays = {name: np.asarray(array) for name, array in parameters.items()}
    return arrays | {"positions": arrays["positions"][:context]}


def _first_rows(data: TrainingSet) -> np.ndarray:
    """The first rows of the training set, without its padding."""
    return np.asarray(data.inputs)[: min(int(data.size), FIRST)]


def _no_rows(data: FreshSamples) -> np.ndarray:  # noqa: ARG001
    """There is no training set to look at."""
    return np.zeros((0, 1), dtype=np.uint8)


def _fit_to_set(
    settings: TransformerSettings, data: TrainingSet, parameters: Parameters, outputs: np.ndarray, _: Array
) -> Row:
    """The loss and the share of right answers on the training set; of one that is not fitted, on its first rows.

    Whether every row is answered rightly decides when training stops, so all are read as soon as the first rows are.
    """
    size = int(data.size)
    inputs, labels = np.asarray(data.inputs), np.asarray(data.labels)
    first = read_set(labels[: len(outputs)], outputs)
    if size <= FIRST or first["train_accuracy"] < 1:
        return first
    return read_set(labels[:size], answers_of(settings, parameters, inputs[:size])[0])


def _fit_to_batches(_s: TransformerSettings, _d: FreshSamples, _p: Parameters, _o: np.ndarray, losses: Array) -> Row:
    """The mean loss of the last batches; there is no training set to be right on."""
    return {"loss": float(np.asarray(losses).mean())}


def _is_fitted(tolerance: float, row: Row) -> bool:
    """No training error and the loss at or below the tolerance."""
    return row["train_accuracy"] == 1 and row["loss"] <= tolerance


def _answers_probe(tolerance: float, row: Row) -> bool:
    """The probe answered without error, where the tolerance asks for a stop."""
    return tolerance > 0 and row["accuracy"] == 1


ON_A_SET = Form(FROM_A_SET, _first_rows, _fit_to_set, _is_fitted)
ON_FRESH_SAMPLES = Form(FRESH, _no_rows, _fit_to_batches, _answers_probe)


@cache
def compiled_stretch(source: Source, settings: TransformerSettings, context: int) -> Program:
    """The program for a stretch of steps: one for each shape of settings and problem."""
    return Program(partial(run_stretch, source, settings, context), f"stretch {settings} {context}")


@cache
def compiled_draws(source: Source, settings: TransformerSettings, count: int) -> Program:
    """The program for what is random in a stretch; it does not depend on the context."""
    return Program(partial(draw_stretch, source, settings, count), f"draws {settings} {count}")


@cache
def _compiled_start(settings: TransformerSettings, symbols: int, context: int) -> Program:
    # with the usual options, so that weights at the start stay the same to the bit
    return Program(partial(initial, settings, symbols, context), f"start {settings} {symbols} {context}", usual=True)
