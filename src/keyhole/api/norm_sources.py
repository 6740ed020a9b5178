"""Whose norms are they? A run, a model, a compiled function, a file, a name or a formula in; a `NormProfile` out."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keyhole.api.stored_run import names_run, read_run
from keyhole.attention import Model, Tabulated, evaluate, numbers_of, table_profile, tabulate
from keyhole.attention import profile as profile_of
from keyhole.boolean import read_function
from keyhole.bounds import TARGETS, pair_construction
from keyhole.bounds.theorems import with_tokens
from keyhole.checkpoints import is_tabulated, load_tabulated
from keyhole.compiler import Compiled, choose, load_checked, plan_profile
from keyhole.errors import AssumptionError, CompileError, DataError
from keyhole.files.looking import is_folder, is_there
from keyhole.files.model import read_model
from keyhole.files.norms import read_norms
from keyhole.norm_profile import NormProfile
from keyhole.show.folding import abbreviate

LARGEST_NAMED = (500, 20)  # positions of a function that is named; of a junta, whose tables have 2^s entries
NAMED = 60  # letters of a function in an answer
VETO_OUTPUTS = {"and": "bits", "signed-and": "signs"}
Source = str | Path | NormProfile | Model | Tabulated | Compiled


class Subject(NamedTuple):
    """Whose norms they are: with what is known of how they came about."""

    profile: NormProfile
    measured: bool = False  # read off a trained model
    samples: int | None = None  # that it was trained on
    sparsity: int | None = None  # of a function that was named
    conditioned: bool = False  # training sets were redrawn until one was balanced
    margins: np.ndarray | None = None  # yf of its training set


def read_subject(
    source: Source,
    context: int | None,
    store: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Subject:
    """The norms of a source: a trained run by its name, else what `norms_of` knows."""
    if isinstance(source, Model | Tabulated) or _holds_tables(source):
        return Subject(norms_of(source, context), measured=True)
    if isinstance(source, str) and named_norms(source) is None and names_run(source):
        return _run_subject(source, context, store, tell)
    if isinstance(source, Compiled):
        return Subject(norms_of(source, context), sparsity=source.plan.function.sparsity)
    return Subject(norms_of(source, context), sparsity=sparsity_of(source))


def _run_subject(name: str, context: int | None, store: Path | None, tell: Callable[[str], None]) -> Subject:
    """The norms of a trained run, under the law its inputs were drawn from."""
    run = read_run(name, store, tell=tell)
    if run.sample is None:
        raise AssumptionError(
            f"The run {name} learned from fresh samples, so it has no training set whose gap could be bounded."
        )
    profile = profile_of(run.model, trained=True)
    if context not in (None, profile.tokens - 1):
        raise AssumptionError(
            f"The run {name} has a context of {profile.tokens - 1}, and {context} was given; leave it out."
        )
    profile = replace(profile, least_probability=min(run.law.chances))
    inputs, labels = run.sample
    margins = (
        None if profile.path_inf is None else (2.0 * labels - 1) * numbers_of(evaluate(tabulate(run.model), inputs))
    )
    return Subject(profile, measured=True, samples=len(labels), conditioned=run.conditioned, margins=margins)


def norms_of(source: Source, context: int | None) -> NormProfile:
    """The norms of a source at a context: a profile, a model, a file of either, a name such as and:3, or a formula."""
    if context is not None and context < 1:
        raise AssumptionError(f"A context has at least one position; got {context}.")
    tokens = None if context is None else context + 1  # [CLS] is one more row
    if isinstance(source, Model | Tabulated | Compiled):
        norms = _model_norms(source)
        if tokens not in (None, norms.tokens):
            raise AssumptionError(
                f"The model has a context of {norms.tokens - 1}, and {context} was given; leave it out."
            )
        return norms
    if isinstance(source, NormProfile):
        return source if context is None else with_tokens(source, context + source.constant_tokens)
    named = named_norms(str(source))
    if named is None and isinstance(source, str) and _is_formula(source):
        return plan_profile(choose(read_function(source, 0), _needed(source, context)).plan)
    if named is not None:
        return pair_construction(named[0], _needed(source, context), named[1])
    path = Path(source)
    if path.suffix.lower() == ".safetensors":
        return _stored_norms(path, context)
    if path.suffix.lower() in {".npz", ".pt", ".bin"} or is_folder(path, DataError):
        raise DataError(
            f"{source} is no file that bounds are read from; give a model that `keyhole compile --out` wrote, "
            "a JSON of norms, a name such as and:3, a formula, or a run."
        )
    read = read_norms(path, tokens)
    return read if context is None else with_tokens(read, context + read.constant_tokens)


def _model_norms(model: Model | Tabulated | Compiled) -> NormProfile:
    """The norms of a model at hand: those of a compiled one were known before any data were."""
    if isinstance(model, Compiled):
        return model.profile
    return profile_of(model, trained=True) if isinstance(model, Model) else table_profile(model)


def _holds_tables(source: Source) -> bool:
    """Whether a source is a file of tables, as `prove` writes them after a repair: those of a trained model."""
    path = Path(source) if isinstance(source, str | Path) else Path()
    return path.suffix.lower() == ".safetensors" and is_tabulated(read_model(path))


def _needed(source: str | Path, context: int | None) -> int:
    """The context, which a name or a formula needs."""
    if context is None:
        raise DataError(f"The norms of {source} depend on the number of positions; give `context`.")
    return context


def _is_formula(source: str) -> bool:
    """Whether a text is meant as a function: it has no ending of a file, and no file has its name."""
    return not Path(source).suffix and not is_there(Path(source), DataError)


def sparsity_of(source: Source) -> int | None:
    """How many positions a named function, or a formula, reads."""
    if not isinstance(source, str):
        return None
    named = named_norms(source)
    if named is not None:
        return named[1]
    return read_function(source, 0).sparsity if _is_formula(source) else None


def _stored_norms(path: Path, context: int | None) -> NormProfile:
    """The norms of a model of ours, of whose file everything must be as claimed."""
    stored = read_model(path)
    if is_tabulated(stored):
        return norms_of(load_tabulated(stored), context)
    plan = load_checked(stored, path)
    if context not in (None, plan.context):
        raise DataError(
            f"{path} is a model of context {plan.context}, and the context {context} was given; leave it out, or "
            "compile the function for that context."
        )
    return plan_profile(plan)


def named_norms(source: str) -> tuple[str, int] | None:
    """Target and sparsity of a name such as and:3, whose norms are known in closed form at every context."""
    target, _, count = source.partition(":")
    if target not in TARGETS or not (count.isascii() and count.isdigit()):
        return None
    if len(count) > 9 or int(count) > LARGEST_NAMED[target == "junta"]:
        most = LARGEST_NAMED[target == "junta"]
        raise AssumptionError(
            f"The norms of {target}:{count[:9]} were asked for; they are known up to {target}:{most}."
        )
    return target, int(count)


def veto_norms(source: Source, context: int | None) -> NormProfile | None:
    """The norms of a named function, or of a formula, by the veto construction; None where it makes no such function.

    A violated literal takes the attention, at a path norm of 1 (bits) or 3 (signs), which pays where a law of
    independent symbols makes scores cost nothing.
    """
    if not isinstance(source, str) or context is None:
        return None
    named = named_norms(source)
    if named is not None and named[0] not in {"and", "signed-and"}:
        return None
    if named is None and not _is_formula(source):
        return None
    function, output = (source, "signs") if named is None else (f"and:{named[1]}", VETO_OUTPUTS[named[0]])
    try:
        return plan_profile(choose(read_function(function, 0), context, "veto", output=output).plan)
    except CompileError:
        return None


def name_of(source: Source) -> str:
    """What an answer calls its source."""
    if isinstance(source, NormProfile):
        return "norms"
    if isinstance(source, Compiled):
        return f"compiled {abbreviate(str(source.plan.function), NAMED)}"
    return "a model" if isinstance(source, Model | Tabulated) else str(source)
