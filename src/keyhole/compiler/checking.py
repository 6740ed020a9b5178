"""A stored model checked from its file alone: each claim of its description against its own numbers."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.boolean.function import check_context
from keyhole.compiler.compiled import Compiled
from keyhole.compiler.constructions.additive import additive_plan, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import separate_plan
from keyhole.compiler.constructions.plan import Plan
from keyhole.compiler.constructions.theorem_norms import named_norms, theorem_figures
from keyhole.compiler.distractors import without_distractors
from keyhole.compiler.export.stored import DENSE_BYTES, dense_matrices, dense_size, load_plan, tables
from keyhole.compiler.norms import plan_profile
from keyhole.compiler.precision.verdicts import judge
from keyhole.compiler.proof import Proof, prove
from keyhole.errors import CheckpointError, KeyholeError
from keyhole.files.model import StoredModel, description_digest, digest
from keyhole.files.record import to_json

CLOSE = 1e-7  # random codes end their bisection at a relative 1e-9, which other libraries may cut elsewhere
SAME = 1e-9  # norms and bounds of equal numbers differ by rounding alone


@dataclass(frozen=True)
class Inspection:
    """One thing looked at: whether it is as claimed, and if not, which entry and which inequality."""

    name: str
    holds: bool
    says: str


def inspect(stored: StoredModel) -> list[Inspection]:
    """Everything a file claims, looked at in the order in which later claims rest on earlier ones."""
    if stored.damage is not None:
        return [Inspection("whole file", holds=False, says=stored.damage)]
    looked = [Inspection("whole file", holds=True, says=f"{len(stored.tensors)} arrays"), *_digests(stored)]
    try:
        plan = load_plan(stored)
        check_context(plan.function, plan.context)
        looked.append(Inspection("tables", holds=True, says="shapes and finite numbers as described"))
    except KeyholeError as refusal:
        return [*looked, Inspection("tables", holds=False, says=str(refusal))]
    for name, look in (
        ("construction", _construction),
        ("proof", _proof),
        ("norms", _norms),
        ("formats", _formats),
        ("description", _description),
        ("dense matrices", lambda plan, _described: _dense(plan, stored)),
    ):
        try:
            with np.errstate(all="ignore"):  # a damaged number may be huge; what is lost fails its comparison
                fault, says = look(plan, stored.description)
            looked.append(Inspection(name, holds=fault is None, says=fault or says))
        except KeyholeError as refusal:
            looked.append(Inspection(name, holds=False, says=str(refusal)))
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            looked.append(Inspection(name, holds=False, says=f"the description cannot be read there ({error!r})"))
    return looked


def load_undamaged(stored: StoredModel, path: Path) -> Plan:
    """The plan of a file whose every array and description are as they were when written; others are refused."""
    if stored.damage is not None or not all(looked.holds for looked in _digests(stored)):
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
    yield Inspection("digests", holds=not says, says=says or "every array and the description as written")


def _construction(plan: Plan, described: Mapping[str, Any]) -> tuple[str | None, str]:
    """Every entry against the construction made anew; what nothing reads is no part of it."""
    plan = without_distractors(plan)
    again = _again(plan)
    if plan.units != again.units:
        return f"the units are named {_short(plan.units)}, and {plan.construction} names them {_short(again.units)}", ""
    fresh = tables(again)
    for name, array in tables(plan).items():
        if array.shape != fresh[name].shape:
            return f"{name} has shape {array.shape}, and {plan.construction} gives {fresh[name].shape}", ""
        off = np.abs(array - fresh[name]) > CLOSE * (1 + np.abs(fresh[name]))
        if off.any():
            at = tuple(int(i) for i in np.argwhere(off)[0])
            entry = f"{name}{list(at) if at else ''}"
            return f"{entry} is {array[at]:.17g}, and {plan.construction} has {fresh[name][at]:.17g} there", ""
    return None, f"every entry as {described['construction']} makes it"


def _again(plan: Plan) -> Plan:
    """The plan that the named construction makes of the same function with the same parameters."""
    function, context, output, name = plan.function, plan.context, plan.output, plan.construction
    if name.startswith("A"):
        plans = {made.construction: made for made in pair_plans(function, context, plan.parameters["gamma"], output)}
        return plans[name]
    rho = plan.parameters["target"]
    if name == "B′":
        return separate_plan(function, context, rho, output)
    if plan.codes_seed is not None:
        return coded_plan(function, context, rho, output, plan.codes_seed)
    return additive_plan(function, context, rho, output)


def _proof(plan: Plan, described: Mapping[str, Any]) -> tuple[str | None, str]:
    """The certificate's inequalities on the stored numbers."""
    proof: Proof = prove(plan)
    if not proof.margin > 0:
        return f"margin > 0 fails: on some input the output may be off by {proof.error:.6g}", ""
    for name, least in (("margin", True), ("error", False), ("leak", False)):
        stated, found = float(described[name]), float(getattr(proof, name))
        slack = SAME * max(1.0, abs(stated))
        if not (found >= stated - slack if least else found <= stated + slack):  # NaN fails too
            return f"{name} {'≥' if least else '≤'} {stated:.12g} fails: the stored numbers give {found:.12g}", ""
    if described["exact"] is not True or described["inputs_covered"] != f"2^{plan.context}":
        return f"the description does not claim all 2^{plan.context} inputs", ""
    return None, f"margin {proof.margin:.9g} on all 2^{plan.context} inputs ({proof.method})"


def _norms(plan: Plan, described: Mapping[str, Any]) -> tuple[str | None, str]:
    """Each stated norm against the stored numbers, and against the theorem's figure."""
    found = named_norms(plan_profile(plan))
    for name, value in found.items():
        stated = float(described["norms"][name])
        if not abs(stated - value) <= SAME * max(1.0, abs(value)):
            return f"{name} = {stated:.12g} fails: the stored numbers give {value:.12g}", ""
    for name, figure in theorem_figures(plan).items():
        if not figure.holds(found[name], CLOSE):
            return f"{name} {figure.relation} {figure.value:.12g} fails: it is {found[name]:.12g}", ""
    return None, f"{len(found)} norms as stated, and as the theorems have them"


def _formats(plan: Plan, described: Mapping[str, Any]) -> tuple[str | None, str]:
    """Each number format's verdict, settled anew."""
    for name, verdict in judge(plan, prove(plan).margin).items():
        if described["formats"].get(name) != verdict.outcome:
            return f"{name} is stated {described['formats'].get(name)}, and is {verdict.outcome}", ""
    return None, ", ".join(f"{name} {outcome}" for name, outcome in described["formats"].items())


def _description(plan: Plan, described: Mapping[str, Any]) -> tuple[str | None, str]:
    """Every other entry of the description against the record that the stored numbers give."""
    margin = prove(plan).margin
    made = Compiled(plan, prove(plan), plan_profile(plan), judge(plan, margin), str(described["why"])).record()
    made |= {"units": plan.units, "dense": dense_size(plan) <= DENSE_BYTES}
    plain = json.loads(to_json("model/1", made))
    for name in sorted((plain.keys() | described.keys()) - {"digest", "digests"}):
        if name not in plain or name not in described or not _alike(plain[name], described[name]):
            return f"{name} is stated {_short(described.get(name))}, and the tables give {_short(plain.get(name))}", ""
    return None, f"{len(plain)} entries as the tables give them"


def _alike(made: Any, stated: Any) -> bool:
    """Whether two JSON values agree, numbers up to rounding."""
    if isinstance(made, dict) and isinstance(stated, dict):
        return made.keys() == stated.keys() and all(_alike(made[name], stated[name]) for name in made)
    if isinstance(made, list) and isinstance(stated, list):
        return len(made) == len(stated) and all(map(_alike, made, stated))
    if isinstance(made, float) and isinstance(stated, int | float) and not isinstance(stated, bool):
        return abs(made - stated) <= CLOSE * max(1.0, abs(made))
    return type(made) is type(stated) and bool(made == stated)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dense(plan: Plan, stored: StoredModel) -> tuple[str | None, str]:
    """Every dense matrix against the tables: bit for bit, or, where codes are solved for, up to rounding."""
    held = {name for name in stored.tensors if name.startswith("dense.")}
    if not held and dense_size(plan) > DENSE_BYTES:
        return None, "none, as there are too many entries"
    unknown = sorted(set(stored.tensors) - held - set(tables(plan)))
    if unknown:
        return f"{unknown[0]} does not belong here", ""
    fresh = dense_matrices(plan)
    if held != set(fresh):
        odd = min(held ^ set(fresh))
        return f"{odd} {'does not belong here' if odd in held else 'is missing'}", ""
    for name in sorted(held):
        array, made = stored.tensors[name], fresh[name]
        if array.shape != made.shape:
            return f"{name} has shape {array.shape}, and the tables give {made.shape}", ""
        slack = 0.0 if plan.codes_seed is None else SAME * (1 + np.abs(made))
        off = ~(np.abs(array - made) <= slack)
        if np.any(off):
            at = [int(i) for i in np.argwhere(off)[0]]
            return f"{name}{at or ''} does not follow from the tables", ""
    return None, f"{len(held)} follow from the tables"


def require_dense(plan: Plan, stored: StoredModel, path: Path) -> None:
    """Refuse a file whose dense matrices, which other programs load, are not those of its tables."""
    with np.errstate(all="ignore"):  # a damaged number may be huge; what is lost fails its comparison
        fault, _ = _dense(plan, stored)
    if fault is not None:
        raise CheckpointError(
            f"{path} contradicts itself: {fault}. `keyhole check {path}` looks at the rest; compile it again."
        )
