"""The claims ledger: every claim there is, in the order a reader meets them; and what no claim covers yet.

A file of `training` or of one of its five siblings states claims and measures them. A claim of one's own joins by
`register`.
"""

from collections.abc import Sequence
from types import ModuleType

from keyhole.apps.ledger.checkpoints import atom_mapping, head_roles, row_order, syntax
from keyhole.apps.ledger.finding import Experiment
from keyhole.apps.ledger.generalization import bounds, complexity, floor
from keyhole.apps.ledger.latent import conditional_mean, exchangeability, posterior
from keyhole.apps.ledger.pretraining import condition_number, lengths, risk_parts, sink_recovery, trained_networks
from keyhole.apps.ledger.representation import constructions, joined, normalisers, one_head
from keyhole.apps.ledger.training import (
    certified_runs,
    conjunctions,
    found_constructions,
    gap_beside_bounds,
    parity,
    registered,
    sparse_heads,
    tested_models,
)
from keyhole.errors import ArgumentError

LEARNED = (
    *(conjunctions, registered, parity, certified_runs, tested_models, sparse_heads),
    *(found_constructions, gap_beside_bounds),
)
COMPUTED = (
    *(joined, normalisers, constructions, one_head, floor, complexity, bounds),
    *(exchangeability, posterior, conditional_mean),
)
PRETRAINED = (lengths, sink_recovery, risk_parts, condition_number, trained_networks)
PUBLISHED = (head_roles, syntax, row_order, atom_mapping)


def experiments_of(*modules: ModuleType) -> tuple[Experiment, ...]:
    """Return every experiment that the modules define, in the order in which they are written."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Experiment))


LIBRARY = experiments_of(*LEARNED, *COMPUTED, *PRETRAINED, *PUBLISHED)

NOT_COVERED: tuple[tuple[str, str], ...] = (
    (
        "large checkpoints",
        "Heads of BERT-base, of decoders and of large vision transformers; prior-fitted networks of others.",
    ),
)

_registered: dict[str, Experiment] = {}  # of this process, by the id of the claim


def register(experiment: Experiment) -> Experiment:
    """Add a claim of one's own to the ledger of this process, and return it; the same id again replaces it.

    The claim is then measured, stored, listed and put on the page as the library's are. A stored finding is read again
    until the claim's `revision` is raised.
    """
    name = experiment.claim.id
    if any(own.claim.id == name for own in LIBRARY):
        raise ArgumentError(f"The claim {name!r} is one of the library's; give your own another id.")
    _registered[name] = experiment
    return experiment


def experiments() -> tuple[Experiment, ...]:
    """The library's experiments, then those that were registered."""
    return (*LIBRARY, *_registered.values())


def find(name: str) -> Experiment:
    """The experiment of a claim, by its id."""
    for experiment in experiments():
        if experiment.claim.id == name:
            return experiment
    known = ", ".join(experiment.claim.id for experiment in experiments())
    raise ArgumentError(f"{name!r} is not a claim; there are {known}.")


def choose(names: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments of these claims, or all of them where none is named."""
    return tuple(find(name) for name in dict.fromkeys(names)) if names else experiments()
