"""Whose norms are they? A function, a model, a file or a trained run in; a `NormSource` out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from keyhole.api.stored_run import read_run
from keyhole.api.trained_run import TrainedRun
from keyhole.attention import Model, Tabulated, evaluate, numbers_of, table_profile, tabulate
from keyhole.attention import profile as profile_of
from keyhole.boolean import read_function
from keyhole.bounds import TARGETS, pair_construction
from keyhole.checkpoints import is_tabulated, load_tabulated
from keyhole.compiler import Compiled, choose, load_checked, plan_profile
from keyhole.errors import AssumptionError, CompileError
from keyhole.files.model import read_model
from keyhole.files.norms import read_norms
from keyhole.norm_profile import NormProfile
from keyhole.show.answer import abbreviate

LARGEST_NAMED = (500, 20)  # positions of a function that is named; of a junta, whose tables have 2^s entries
NAMED = 60  # letters of a function in an answer
VETO_OUTPUTS = {"and": "bits", "signed-and": "signs"}
Construction = Callable[[int], NormProfile | None]  # the norms at a context, if it makes the function
Source = str | NormProfile | Model | Tabulated | Compiled


@dataclass(frozen=True)
class NormSource:
    """A profile of norms, and what is known of how it came about.

    The norms of a named function are known at every context: `constructions` gives them, by the name of the
    construction, "" for the usual one.
    """

    name: str
    profile: NormProfile
    measured: bool = False  # read off a trained model
    fixed: bool = True  # belongs to one context
    samples: int | None = None  # that it was trained on
    sparsity: int | None = None  # of a function
    conditioned: bool = False  # training sets were redrawn until one was balanced
    margins: np.ndarray | None = None  # yf of its training set
    run: TrainedRun | None = None  # whose norms they are
    constructions: Mapping[str, Construction] = field(default_factory=dict)

    @property
    def context(self) -> int:
        """The number of positions."""
        return self.profile.tokens - self.profile.constant_tokens


def source_of(source: Source, context: int | None) -> NormSource:
    """Return the norms of a function at a context, of a profile, or of a model at hand."""
    if isinstance(source, str):
        return function_norms(source, context)
    if isinstance(source, Compiled):
        function = source.plan.function
        name = f"compiled {abbreviate(str(function), NAMED)}"
        return NormSource(name, source.profile, sparsity=function.sparsity)
    if isinstance(source, NormProfile):
        return NormSource("norms", source, fixed=False)
    profile = profile_of(source, trained=True) if isinstance(source, Model) else table_profile(source)
    return NormSource("a model", profile, measured=True)


def function_norms(function: str, context: int | None) -> NormSource:
    """Return the norms of a name such as and:3, in closed form, or of a formula, as it is compiled."""
    if context is None:
        raise AssumptionError(f"The norms of {function} depend on the number of positions; give `context`.")
    target, _, count = function.partition(":")
    if target in TARGETS and count.isascii() and count.isdigit():
        most = LARGEST_NAMED[target == "junta"]
        if len(count) > 9 or int(count) > most:
            raise AssumptionError(
                f"The norms of {target}:{count[:9]} were asked for; they are known up to {target}:{most}."
            )
        sparsity = int(count)
        profile = pair_construction(target, context, sparsity)
        vetoed, output = f"and:{sparsity}", VETO_OUTPUTS.get(target)
    else:
        parsed = read_function(function, 0)
        sparsity, vetoed, output = parsed.sparsity, function, "signs"
        profile = plan_profile(choose(parsed, context).plan)

    def usual(length: int) -> NormProfile:
        return function_norms(function, length).profile

    def veto(length: int) -> NormProfile | None:
        try:
            return plan_profile(choose(read_function(vetoed, 0), length, "veto", output=output or "bits").plan)
        except CompileError:  # neither a conjunction nor a disjunction
            return None

    constructions: dict[str, Construction] = {"": usual} if output is None else {"": usual, "veto": veto}
    return NormSource(function, profile, sparsity=sparsity, constructions=constructions)


def file_norms(path: str | Path) -> NormSource:
    """Return the norms of a model of ours, everything in whose file must be as claimed."""
    path = Path(path)
    stored = read_model(path)
    if is_tabulated(stored):  # as `prove` writes them after a repair
        return NormSource(str(path), table_profile(load_tabulated(stored)), measured=True)
    return NormSource(str(path), plan_profile(load_checked(stored, path)))


def json_norms(path: str | Path, *, measured: bool = False) -> NormSource:
    """Return the norms of a JSON file; `measured` if they were read off a trained model, which costs a part of δ."""
    return NormSource(str(path), read_norms(Path(path)), measured=measured, fixed=False)


def run_norms(run: str, store: str | Path | None = None, *, tell: Callable[[str], None] = lambda _: None) -> NormSource:
    """Return the norms of a trained run, under the law its inputs were drawn from.

    A run whose weights were not kept is trained again; `tell` is called with a sentence about that.
    """
    trained = read_run(run, store, tell=tell)
    if trained.sample is None:
        raise AssumptionError(
            f"The run {run} learned from fresh samples, so it has no training set whose gap could be bounded."
        )
    profile = replace(profile_of(trained.model, trained=True), least_probability=min(trained.law.chances))
    inputs, labels = trained.sample
    margins = None
    if profile.path_inf is not None:
        margins = (2.0 * labels - 1) * numbers_of(evaluate(tabulate(trained.model), inputs))
    return NormSource(
        name=run,
        profile=profile,
        measured=True,
        samples=len(labels),
        conditioned=trained.conditioned,
        margins=margins,
        run=trained,
    )
