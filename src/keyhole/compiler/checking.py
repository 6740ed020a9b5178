"""A stored model checked from its file alone: each claim of its description against its own numbers.

What the description says is made again from the tables and compared: words, counts and names exactly, numbers up to the
rounding of other libraries, and a proved number only on its safe side. What cannot be made again is refused.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.boolean import check_context
from keyhole.compiler.choice import reasons
from keyhole.compiler.compiled import Compiled
from keyhole.compiler.constructions.base import Construction, TheoremNorm
from keyhole.compiler.constructions.plan import Plan
from keyhole.compiler.constructions.registry import construction_of
from keyhole.compiler.distractors import add_distractor, read_distractors, remove_distractors
from keyhole.compiler.export.stored import dense_matrices, description_of, load_plan, tables
from keyhole.compiler.norms import named_norms, plan_profile, theorem_norms
from keyhole.compiler.precision.verdicts import FormatVerdict, short_name
from keyhole.compiler.proof import Proof, prove
from keyhole.decimals import at_least, at_most
from keyhole.errors import CheckpointError, KeyholeError
from keyhole.files.model import StoredModel, description_digest, digest
from keyhole.files.record import to_record
from keyhole.norm_profile import NormProfile

CLOSE = 1e-7  # of a norm and the theorem's figure for it
SAME = 1e-12  # equal numbers, added up in another order by another library
BELOW = ("margin",)  # may be claimed smaller than proved
ABOVE = ("error", "leak", "bound")  # may be claimed larger than proved
TABLES_HOLD = "those of scores, values and read-out have the shapes stated, and all numbers are finite"
DENSE_PARTS = "embedding, [CLS], keys, values, read-out"  # as other programs load them
SIGNS_BY_OUTCOME = {
    "proved": "every sign is proved right",
    "refuted": "some sign is wrong",
    "tried": "signs were only tried",
}


@dataclass(frozen=True)
class Inspection:
    """One thing looked at: whether it is as claimed, and if not, which entry and which inequality."""

    name: str
    holds: bool
    says: str


@dataclass(frozen=True, eq=False)
class _Evidence:
    """A stored plan, and all that is shown of it anew, each thing once."""

    stored: StoredModel
    plan: Plan

    @property
    def described(self) -> Mapping[str, Any]:
        """What the file says."""
        return self.stored.description

    @cached_property
    def construction(self) -> Construction:
        """The construction that the file names."""
        return construction_of(self.plan.construction)

    @cached_property
    def proof(self) -> Proof:
        """The proof on the stored numbers."""
        return prove(self.plan)

    @cached_property
    def profile(self) -> NormProfile:
        """The norms of the stored numbers."""
        return plan_profile(self.plan)

    @cached_property
    def compiled(self) -> Compiled:
        """What compiling gives where it comes to this plan; why it was chosen is not known."""
        return Compiled(self.plan, self.proof, self.profile, self.theorem, why="")

    @property
    def formats(self) -> Mapping[str, FormatVerdict]:
        """Each number format's verdict."""
        return self.compiled.formats

    @cached_property
    def theorem(self) -> Mapping[str, TheoremNorm]:
        """The construction's own figure for each norm it speaks of."""
        return theorem_norms(self.plan, self.construction)


def inspect(stored: StoredModel) -> list[Inspection]:
    """Everything a file claims, looked at in the order in which later claims rest on earlier ones."""
    if stored.damage is not None:
        return [Inspection("whole file", holds=False, says=stored.damage)]
    dense = sum(name.startswith("dense.") for name in stored.tensors)
    arrays = f"{len(stored.tensors)} arrays, {dense} of them dense matrices"
    inspections = [
        Inspection("whole file", holds=True, says=f"it is complete, with {arrays}"),
        *_digests(stored),
    ]
    try:
        plan = load_plan(stored)
        check_context(plan.function, plan.context)
        inspections.append(Inspection("tables", holds=True, says=TABLES_HOLD))
    except KeyholeError as refusal:
        return [*inspections, Inspection("tables", holds=False, says=str(refusal))]
    evidence = _Evidence(stored, plan)
    for name, look in (
        ("construction", _construction),
        ("proof", _proof),
        ("norms", _norms),
        ("formats", _formats),
        ("description", _description),
        ("dense matrices", _dense),
    ):
        try:
            with np.errstate(all="ignore"):  # a damaged number may be huge; what is lost fails its comparison
                fault, says = look(evidence)
            inspections.append(Inspection(name, holds=fault is None, says=fault or says))
        except KeyholeError as refusal:
            inspections.append(Inspection(name, holds=False, says=str(refusal)))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            inspections.append(Inspection(name, holds=False, says=f"the description cannot be read there ({error!r})"))
    return inspections


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
    if stored.damage is not None or not all(inspection.holds for inspection in _digests(stored)):
        raise CheckpointError(f"{path} is not as it was written; `keyhole check {path}` says where. Compile it again.")
    return load_plan(stored)


def _digests(stored: StoredModel) -> Iterator[Inspection]:
    """Each array and the description itself as they were when written."""
    stated = stored.description.get("digests", {})
    stated = stated if isinstance(stated, dict) else {}
    changed = [name for name, array in stored.tensors.items() if stated.get(name) != digest(array)]
    missing = [name for name in stated if name not in stored.tensors]
    if description_digest(stored.description) != stored.description.get("digest"):
        changed.append("the description")
    says = ", ".join([f"{name} is not as written" for name in changed] + [f"{name} is missing" for name in missing])
    yield Inspection(
        "digests", holds=not says, says=says or "no array and no word of the file's description was changed"
    )


def _construction(evidence: _Evidence) -> tuple[str | None, str]:
    """Every entry, name and parameter against the construction made anew, its distractors included."""
    plan, construction = evidence.plan, evidence.construction
    again, slack = _rebuild(plan, construction), construction.rebuild_slack
    for name in ("construction", "units", "dimension", "codes_seed"):
        stated, made = getattr(plan, name), getattr(again, name)
        if stated != made:
            return f"{name} is stated {_short(stated)}, and the construction gives {_short(made)}", ""
    fresh = tables(again)
    for name, array in tables(plan).items():
        if array.shape != fresh[name].shape:
            return f"{name} has shape {array.shape}, and {plan.construction} gives {fresh[name].shape}", ""
        off = ~(np.abs(array - fresh[name]) <= slack * (1 + np.abs(fresh[name])))
        if off.any():
            at = tuple(int(i) for i in np.argwhere(off)[0])
            entry = f"{name}{list(at) if at else ''}"
            return f"{entry} is {array[at]:.17g}, and {plan.construction} has {fresh[name][at]:.17g} there", ""
    own = construction.read_parameters(plan) or again.parameters
    for parameters, allowed in ((again.parameters, slack), (own, SAME)):
        if not _alike(dict(parameters), dict(plan.parameters), allowed):
            stated, made = _short(dict(plan.parameters)), _short(dict(parameters))
            return f"the parameters are stated {stated}, and {again.construction} has {made}", ""
    return None, f"every entry is the one that construction {plan.construction} gives"


def _rebuild(plan: Plan, construction: Construction) -> Plan:
    """The plan that the construction makes of the same function with the same parameters and distractors."""
    again = construction.rebuild(remove_distractors(plan))
    for distractor in read_distractors(plan):
        again = add_distractor(again, distractor)
    return again


def _proof(evidence: _Evidence) -> tuple[str | None, str]:
    """The certificate's inequalities on the stored numbers."""
    proof, plan, described = evidence.proof, evidence.plan, evidence.described
    if not proof.margin > 0:
        return f"margin > 0 fails: on some input the output may be off by {at_most(proof.error, 6)}", ""
    for name in ("margin", "error", "leak"):
        stated, proved = float(described[name]), float(getattr(proof, name))
        if not (stated <= proved if name in BELOW else stated >= proved):  # NaN fails too
            relation = "≥" if name in BELOW else "≤"
            hint = "; in its last digits a file of another machine may differ, then compile it again here"
            near = hint if abs(stated - proved) <= SAME else ""
            claim, shown = _apart(stated, proved)
            return f"{name} {relation} {claim} fails: the stored numbers give {shown}{near}", ""
    if described["exact"] is not True or described["inputs_covered"] != f"2^{plan.context}":
        return f"the description does not claim all 2^{plan.context} inputs", ""
    return None, (
        f"the answer is right on all 2^{plan.context} inputs, with margin {at_least(proof.margin, 9)} (proof by cases: "
        f"{proof.method})"
    )


def _norms(evidence: _Evidence) -> tuple[str | None, str]:
    """Each stated norm against the stored numbers, and against the theorem's figure."""
    measured = named_norms(evidence.profile)
    for name, value in measured.items():
        stated = float(evidence.described["norms"][name])
        if not _close(value, stated):
            claim, shown = _apart(stated, value)
            return f"{name} = {claim} fails: the stored numbers give {shown}", ""
    for name, figure in evidence.theorem.items():
        if not figure.holds(measured[name], CLOSE):
            return f"{name} {figure.relation} {figure.value:.12g} fails: it is {measured[name]:.12g}", ""
    told = f"the {len(evidence.theorem)} that a theorem speaks of agree with it"
    return None, f"all {len(measured)} norms are as stated; {told}"


def _formats(evidence: _Evidence) -> tuple[str | None, str]:
    """Each number format's verdict, settled evidence."""
    stated = evidence.described["formats"]
    for name, verdict in evidence.formats.items():
        if stated.get(name) != verdict.outcome:
            return f"{name} is stated {stated.get(name)}, and is {verdict.outcome}", ""
    outcomes = dict.fromkeys(verdict.outcome for verdict in evidence.formats.values())
    by_outcome = {
        outcome: [short_name(name) for name, v in evidence.formats.items() if v.outcome == outcome]
        for outcome in outcomes
    }
    return None, "; ".join(
        f"{SIGNS_BY_OUTCOME[outcome]} in {', '.join(names)}" for outcome, names in by_outcome.items()
    )


def _description(evidence: _Evidence) -> tuple[str | None, str]:
    """Every entry of the description against the record that the stored numbers give; no entry beside those."""
    plain = to_record("model/1", description_of(evidence.compiled))
    described = {name: value for name, value in evidence.described.items() if name not in {"digest", "digests"}}
    if described.get("keyhole") != plain["keyhole"]:
        return (
            f"the file is of keyhole {_short(described.get('keyhole'))}, and this is {_short(plain['keyhole'])}; "
            "compile it again, or check it with that version"
        ), ""
    if "why" in described and described.pop("why") not in reasons(evidence.plan):
        return "why is no sentence that choosing this construction gives; make the file again, which leaves it out", ""
    for name in sorted(plain.keys() | described.keys()):
        if name not in plain:
            return f"{name} is stated {_short(described[name])}, and nothing gives it", ""
        if name not in described or not _alike(plain, described, SAME, (name,)):
            return f"{name} is stated {_short(described.get(name))}, and the tables give {_short(plain[name])}", ""
    return None, f"all {len(plain)} entries of the file's description agree with the tables"


def _alike(made: Any, stated: Any, slack: float = SAME, only: tuple[str, ...] = ()) -> bool:
    """Whether two JSON values agree (of dictionaries only these entries): words exactly, numbers up to the slack.

    A proved number agrees only on its safe side: a margin not above the one proved, an error not below.
    """
    if isinstance(made, dict) and isinstance(stated, dict):
        names = only or tuple(made)
        return (bool(only) or made.keys() == stated.keys()) and all(
            _alike(made[name], stated[name], slack) and _safe(name, made[name], stated[name]) for name in names
        )
    if isinstance(made, list) and isinstance(stated, list):
        return len(made) == len(stated) and all(
            _alike(one, other, slack) for one, other in zip(made, stated, strict=True)
        )
    if isinstance(made, float) and isinstance(stated, float):
        return _close(made, stated, slack)
    return type(made) is type(stated) and bool(made == stated)


def _close(made: float, stated: float, slack: float = SAME) -> bool:
    return abs(made - stated) <= slack * max(1.0, abs(made))  # NaN is close to nothing


def _safe(name: str, made: Any, stated: Any) -> bool:
    """Whether a claim called so errs on its safe side, if it is one that has a side."""
    if not isinstance(made, float) or name not in BELOW + ABOVE:
        return True
    if name == "bound":  # of rounding: it holds 1e-9 of itself for its own rounding, so a little less holds too
        return bool(stated >= made * (1 - SAME))
    return bool(stated <= made if name in BELOW else stated >= made)


def _apart(stated: float, found: float) -> tuple[str, str]:
    """Two numbers in twelve digits, or in as many as tell them apart."""
    short = f"{stated:.12g}", f"{found:.12g}"
    return short if short[0] != short[1] else (f"{stated:.17g}", f"{found:.17g}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dense(evidence: _Evidence) -> tuple[str | None, str]:
    """No array but the tables and what follows from them: to the bit, or, where codes are solved for, to rounding."""
    stored, plan = evidence.stored, evidence.plan
    fresh = dense_matrices(plan)
    odd = sorted(stored.tensors.keys() ^ (fresh.keys() | tables(plan).keys()))
    if odd:
        return f"{odd[0]} {'does not belong here' if odd[0] in stored.tensors else 'is missing'}", ""
    for name, made in sorted(fresh.items()):
        array = stored.tensors[name]
        if array.shape != made.shape:
            return f"{name} has shape {array.shape}, and the tables give {made.shape}", ""
        slack = 0.0 if plan.layout.orthogonal else SAME * (1 + np.abs(made))
        off = ~(np.abs(array - made) <= slack)
        if np.any(off):
            at = [int(i) for i in np.argwhere(off)[0]]
            return f"{name}{at or ''} does not follow from the tables", ""
    return (
        None,
        f"all {len(fresh)} ({DENSE_PARTS}) follow from the tables"
        if fresh
        else "the file has none, as they would be too large",
    )


def require_dense(plan: Plan, stored: StoredModel, path: Path) -> None:
    """Refuse a file whose dense matrices, which other programs load, are not those of its tables."""
    with np.errstate(all="ignore"):  # a damaged number may be huge; what is lost fails its comparison
        fault, _ = _dense(_Evidence(stored, plan))
    if fault is not None:
        raise CheckpointError(
            f"{path} contradicts itself: {fault}. `keyhole check {path}` looks at the rest; compile it again."
        )
