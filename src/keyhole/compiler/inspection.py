"""A stored model checked from its file alone: each claim of its description against its own numbers.

The plan is made again from the stored tables, proved, and described. What the file says is compared with that: words
and counts exactly, numbers up to the rounding of other libraries, and a proved number only on its safe side.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from keyhole.boolean import check_context
from keyhole.compiler.compiled import Compiled
from keyhole.compiler.constructions.plan import Plan
from keyhole.compiler.constructions.registry import construction_of
from keyhole.compiler.distractors import add_distractor, read_distractors, remove_distractors
from keyhole.compiler.export.model_file import dense_matrices, description_of, load_plan, tables
from keyhole.compiler.proof import prove
from keyhole.decimals import at_least, at_most
from keyhole.errors import CheckpointError, KeyholeError
from keyhole.files.model import StoredModel, description_digest, digest
from keyhole.files.record import to_record

E = TypeVar("E")  # what a check looks at

CLOSE = 1e-7  # of a norm and the theorem's figure for it
SAME = 1e-12  # equal numbers, added up in another order by another library
BELOW = ("margin", "slack")  # may be claimed smaller than proved
ABOVE = ("error", "leak", "bound", "silence")  # may be claimed larger than proved


@dataclass(frozen=True)
class Inspection:
    """The outcome of one check, with its reason."""

    name: str
    holds: bool
    says: str


@dataclass(frozen=True, eq=False)
class _Evidence:
    """A stored plan, and what its numbers show, each computed once."""

    stored: StoredModel
    plan: Plan

    @cached_property
    def compiled(self) -> Compiled:
        """The plan with its proof made anew."""
        return Compiled(self.plan, prove(self.plan), construction_of(self.plan.construction))

    @cached_property
    def shown(self) -> dict[str, Any]:
        """The description that the stored numbers give."""
        return to_record("model/1", description_of(self.compiled))

    @cached_property
    def stated(self) -> dict[str, Any]:
        """The description in the file."""
        return {name: value for name, value in self.stored.description.items() if name not in {"digest", "digests"}}

    def compare(self, *names: str) -> None:
        """Compare these entries of the two descriptions."""
        shown, stated = ({name: d[name] for name in names if name in d} for d in (self.shown, self.stated))
        compare(shown, stated)


def inspect(stored: StoredModel) -> list[Inspection]:
    """Check everything that a file claims, in the order in which later claims rest on earlier ones."""
    inspections = inspect_file(stored)
    if stored.damage is not None:
        return inspections
    try:
        plan = load_plan(stored)
        check_context(plan.function, plan.context)
    except KeyholeError as refusal:
        return [*inspections, Inspection("tables", holds=False, says=str(refusal))]
    inspections.append(Inspection("tables", holds=True, says="all shapes are as stated and all numbers finite"))
    evidence = _Evidence(stored, plan)
    return [*inspections, *(inspect_one(name, check, evidence) for name, check in CHECKS.items())]


def inspect_file(stored: StoredModel) -> list[Inspection]:
    """Check that a file is whole and as it was written."""
    if stored.damage is not None:
        return [Inspection("whole file", holds=False, says=stored.damage)]
    changed = _changed(stored)
    return [
        Inspection("whole file", holds=True, says=f"complete, with {len(stored.tensors)} arrays"),
        Inspection("digests", holds=not changed, says=changed or "every array and the description are as written"),
    ]


def inspect_one(name: str, check: Callable[[E], str], evidence: E) -> Inspection:
    """Carry out one check; a refusal, or an entry that cannot be read, is its failure."""
    try:
        with np.errstate(all="ignore"):  # a damaged number may be huge; what is lost fails its comparison
            return Inspection(name, holds=True, says=check(evidence))
    except KeyholeError as refusal:
        return Inspection(name, holds=False, says=str(refusal))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return Inspection(name, holds=False, says=f"the description cannot be read there ({error!r})")


def load_checked(stored: StoredModel, path: Path) -> Plan:
    """The plan of a file of which everything is as claimed; others are refused, with the first thing that is not."""
    for inspection in inspect(stored):
        if not inspection.holds:
            raise CheckpointError(
                f"{path} is not as it was written ({inspection.name}: {inspection.says.rstrip('.')}), so nothing is "
                f"guaranteed of it; `keyhole check {path}` says more. Compile it again."
            )
    return load_plan(stored)


def load_undamaged(stored: StoredModel, path: Path) -> Plan:
    """The plan of a file whose every array and description are as they were when written; others are refused."""
    if stored.damage is not None or _changed(stored):
        raise CheckpointError(f"{path} is not as it was written; `keyhole check {path}` says where. Compile it again.")
    return load_plan(stored)


def require_dense(plan: Plan, stored: StoredModel, path: Path) -> None:
    """Refuse a file whose dense matrices, which other programs load, are not those of its tables."""
    inspection = inspect_one("dense matrices", _dense, _Evidence(stored, plan))
    if not inspection.holds:
        raise CheckpointError(
            f"{path} contradicts itself: {inspection.says}. `keyhole check {path}` looks at the rest; compile it again."
        )


def _changed(stored: StoredModel) -> str:
    """Name each array that is not as it was when written, and the description if it is not."""
    stated = stored.description.get("digests", {})
    stated = stated if isinstance(stated, dict) else {}
    changed = [name for name, array in stored.tensors.items() if stated.get(name) != digest(array)]
    missing = [name for name in stated if name not in stored.tensors]
    if description_digest(stored.description) != stored.description.get("digest"):
        changed.append("the description")
    return ", ".join([f"{name} is not as written" for name in changed] + [f"{name} is missing" for name in missing])


def _construction(evidence: _Evidence) -> str:
    """Compare every entry, name and parameter with the construction made anew, its distractors included."""
    plan = evidence.plan
    construction = construction_of(plan.construction)
    again, slack = construction.rebuild(remove_distractors(plan)), construction.rebuild_slack
    for distractor in read_distractors(plan):
        again = add_distractor(again, distractor)
    for name in ("construction", "units", "dimension", "codes_seed"):
        compare(getattr(again, name), getattr(plan, name), name)
    fresh = tables(again)
    for name, array in tables(plan).items():
        compare_arrays(fresh[name], array, name, slack * (1 + np.abs(fresh[name])))
    compare(dict(again.parameters), dict(plan.parameters), "parameters", slack)
    compare(dict(construction.read_parameters(plan) or again.parameters), dict(plan.parameters), "parameters")
    return f"every entry is the one that construction {plan.construction} gives"


def _proof(evidence: _Evidence) -> str:
    """Prove the stored numbers, and compare the certificate."""
    proof = evidence.compiled.proof
    if not proof.margin > 0:
        raise CheckpointError(f"margin > 0 fails: on some input the output may be off by {at_most(proof.error, 6)}")
    evidence.compare("exact", "inputs_covered", "method", "margin", "error", "leak")
    return f"right on all 2^{evidence.plan.context} inputs, with margin {at_least(proof.margin, 9)} ({proof.method})"


def _norms(evidence: _Evidence) -> str:
    """Compare each norm with the stored numbers, and with the theorem's figure."""
    evidence.compare("norms", "theorem")
    measured, theorem = evidence.compiled.norms, evidence.compiled.theorem
    for name, figure in theorem.items():
        if not figure.holds(measured[name], CLOSE):
            raise CheckpointError(f"{name} {figure.relation} {figure.value!r} fails: it is {measured[name]!r}")
    return f"{len(measured)} are as stated, and {len(theorem)} of them agree with a theorem"


def _formats(evidence: _Evidence) -> str:
    """Settle each number format anew."""
    evidence.compare("formats")
    return "; ".join(f"{name}: {outcome}" for name, outcome in evidence.compiled.formats.items())


def _description(evidence: _Evidence) -> str:
    """Compare every entry of the description; refuse an entry that nothing gives."""
    stated, shown = evidence.stated.get("keyhole"), evidence.shown["keyhole"]
    if stated != shown:
        raise CheckpointError(
            f"the file is of keyhole {_short(stated)}, and this is {_short(shown)}; compile it again, or check it with "
            "that version"
        )
    compare(evidence.shown, evidence.stated)
    return f"all {len(evidence.shown)} entries agree with the tables"


def _dense(evidence: _Evidence) -> str:
    """Derive the dense matrices from the tables: equal to the bit, or, where codes are solved for, to rounding."""
    tensors, plan = evidence.stored.tensors, evidence.plan
    fresh = dense_matrices(plan)
    for name in sorted(tensors.keys() ^ (fresh.keys() | tables(plan).keys())):
        raise CheckpointError(f"{name} {'does not belong here' if name in tensors else 'is missing'}")
    for name, derived in sorted(fresh.items()):
        compare_arrays(derived, tensors[name], name, 0.0 if plan.layout.orthogonal else SAME * (1 + np.abs(derived)))
    return f"{len(fresh)} follow from the tables" if fresh else "the file has none, as they would be too large"


CHECKS: Mapping[str, Callable[[_Evidence], str]] = {
    "construction": _construction,
    "proof": _proof,
    "norms": _norms,
    "formats": _formats,
    "description": _description,
    "dense matrices": _dense,
}


def compare_arrays(derived: np.ndarray, stated: np.ndarray, name: str, slack: np.ndarray | float) -> None:
    """Fail at the first entry that is off by more than the slack."""
    if stated.shape != derived.shape:
        raise CheckpointError(f"{name} has shape {stated.shape}, and {derived.shape} follows from the rest of the file")
    off = ~(np.abs(stated - derived) <= slack)
    if off.any():
        at = tuple(int(i) for i in np.argwhere(off)[0])
        entry = f"{name}{list(at) if at else ''}"
        raise CheckpointError(f"{entry} is {stated[at]:.17g}, and {derived[at]:.17g} follows from the rest of the file")


def compare(derived: Any, stated: Any, name: str = "", slack: float = SAME) -> None:
    """Fail where two JSON values differ: words exactly, numbers up to the slack, proved ones on their safe side."""
    if isinstance(derived, dict) and isinstance(stated, dict):
        for key in sorted(derived.keys() | stated.keys()):
            path = f"{name}.{key}" if name else key
            if key not in stated or key not in derived:
                raise CheckpointError(f"{path} {'does not belong here' if key in stated else 'is missing'}")
            compare(derived[key], stated[key], path, slack)
        return
    if isinstance(derived, list) and isinstance(stated, list) and len(derived) == len(stated):
        for one, other in zip(derived, stated, strict=True):
            compare(one, other, name, slack)
        return
    if isinstance(derived, float) and isinstance(stated, float):
        close = abs(derived - stated) <= slack * max(1.0, abs(derived))  # NaN is close to nothing
        entry = name.rpartition(".")[2]
        # the bound of rounding contains 1e-9 of itself for its own rounding, so a little less holds too
        least = derived * (1 - SAME) if entry == "bound" else derived
        if close and (entry not in BELOW or stated <= derived) and (entry not in ABOVE or stated >= least):
            return
        hint = "; on another processor its last digits may differ, so compile it again here" if close else ""
    elif type(derived) is type(stated) and derived == stated:
        return
    else:
        hint = ""
    raise CheckpointError(f"{name} is stated {_short(stated)}, and the file's own numbers give {_short(derived)}{hint}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
