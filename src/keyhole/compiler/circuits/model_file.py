"""A compiled circuit as a file, and the checks that prove the file anew from its own numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.boolean import MAX_FAN_IN, read_circuit
from keyhole.compiler.circuits.dense import MAX_NUMBERS, to_dense
from keyhole.compiler.circuits.export import ARRAYS, circuit_torch_source
from keyhole.compiler.circuits.formats import proved_formats
from keyhole.compiler.circuits.norms import layer_norms
from keyhole.compiler.circuits.plan import CircuitPlan, circuit_plan
from keyhole.compiler.circuits.proof import CircuitProof, prove_circuit
from keyhole.compiler.inspection import Inspection, compare, compare_arrays, inspect_file, inspect_one
from keyhole.decimals import at_least
from keyhole.errors import CheckpointError, KeyholeError, OutputError
from keyhole.files.atomic import write_file
from keyhole.files.model import StoredModel, write_model
from keyhole.files.record import record_of, to_record

CONSTRUCTION = "C"  # in the description of a file
DENSE_NUMBERS = 6_000_000  # dense matrices are stored beside the tables up to this size: 48 MB
TABLES = ("focus", "starts", "owners", "signs", "offsets", "weights", "silence")


def save_circuit(plan: CircuitPlan, proof: CircuitProof, path: Path) -> Path:
    """Write .safetensors (tables, dense matrices where they fit, and the certificate) or .py (a torch module)."""
    if path.suffix.lower() == ".py":
        return write_file(path, circuit_torch_source(plan, proof).encode())
    if read_circuit(str(plan.circuit), MAX_FAN_IN) != plan.circuit:
        raise OutputError("This circuit has gates that read_circuit would share, so a file cannot name it.")
    return write_model(path, tables(plan) | dense_arrays(plan), description_of(plan, proof))


def description_of(plan: CircuitPlan, proof: CircuitProof) -> dict[str, Any]:
    """Return what a file says of its arrays, all of which can be made again from them."""
    return {
        "construction": CONSTRUCTION,
        "circuit": str(plan.circuit),
        "context": plan.context,
        "mode": plan.mode,
        "gates": len(plan.circuit.gates),
        "depth": plan.circuit.depth,
        "inputs_covered": f"2^{plan.context}",
        "proof": record_of(proof),
        "norms": record_of(layer_norms(plan)),
        "formats": proved_formats(plan),
        "dense": bool(dense_arrays(plan)),
    }


def tables(plan: CircuitPlan) -> dict[str, np.ndarray]:
    """The plan's numbers."""
    return {f"tables.{name}": np.asarray(getattr(plan, name), dtype=np.float64) for name in TABLES}


def dense_arrays(plan: CircuitPlan) -> dict[str, np.ndarray]:
    """The weights as matrices; nothing where they would be large."""
    if plan.tokens**2 > min(DENSE_NUMBERS, MAX_NUMBERS):
        return {}
    dense = to_dense(plan)
    arrays = {f"dense.{name}": getattr(dense, name) for name in ARRAYS}
    return arrays if sum(array.size for array in arrays.values()) <= DENSE_NUMBERS else {}


def is_circuit(stored: StoredModel) -> bool:
    """Return True of a file that says it holds a compiled circuit."""
    return stored.description.get("construction") == CONSTRUCTION and "circuit" in stored.description


def load_circuit(stored: StoredModel) -> CircuitPlan:
    """The plan whose tables were stored; its numbers are the stored ones, whatever they are."""
    described = stored.description
    try:
        circuit = read_circuit(str(described["circuit"]), MAX_FAN_IN)
        arrays = {name: stored.tensors[f"tables.{name}"] for name in TABLES}
        mode, context = described["mode"], int(described["context"])
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"The description or a table lacks what a circuit needs: {error}") from error
    n, r, s = len(circuit.gates), arrays["offsets"].size, max(1, circuit.fan_in)
    shapes = ((n, s), (n,), (r,), (r, s), (r,), (r,), ())
    for name, shape in zip(TABLES, shapes, strict=True):
        if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
            raise CheckpointError(f"tables.{name} is not made of finite numbers in the shape {shape}.")
    owners = arrays["owners"].astype(np.int64)
    if mode not in ("layers", "steps") or not np.array_equal(np.unique(owners), np.arange(n)):
        raise CheckpointError("The mode is not layers or steps, or a gate has no ramp.")
    if not (owners == np.sort(arrays["owners"])).all():
        raise CheckpointError("The ramps are not in the order of their gates.")
    plan = CircuitPlan(
        circuit=circuit,
        context=context,
        mode=mode,
        focus=arrays["focus"],
        starts=arrays["starts"],
        owners=owners,
        signs=arrays["signs"],
        offsets=arrays["offsets"],
        weights=arrays["weights"],
        silence=float(arrays["silence"]),
    )
    _ = plan.slots  # refuses a context that is too short
    return plan


@dataclass(frozen=True, eq=False)
class _Evidence:
    stored: StoredModel
    plan: CircuitPlan

    @cached_property
    def shown(self) -> dict[str, Any]:
        """The description that the stored numbers give."""
        return to_record("model/1", description_of(self.plan, prove_circuit(self.plan)))

    def compare(self, *names: str) -> None:
        """Compare these entries of the two descriptions."""
        stated = self.stored.description
        compare({name: self.shown[name] for name in names}, {name: stated[name] for name in names if name in stated})


def inspect_circuit(stored: StoredModel) -> list[Inspection]:
    """Check everything that the file of a circuit claims."""
    inspections = inspect_file(stored)
    if stored.damage is not None:
        return inspections
    try:
        plan = load_circuit(stored)
    except KeyholeError as refusal:
        return [*inspections, Inspection("tables", holds=False, says=str(refusal))]
    inspections.append(Inspection("tables", holds=True, says="all shapes are as stated and all numbers finite"))
    evidence = _Evidence(stored, plan)
    return [*inspections, *(inspect_one(name, check, evidence) for name, check in CHECKS.items())]


def _construction(evidence: _Evidence) -> str:
    """Make the plan anew, and compare every number."""
    plan = evidence.plan
    again = circuit_plan(plan.circuit, plan.context, plan.mode)
    for name, array in tables(again).items():
        compare_arrays(array, tables(plan)[name], name, 1e-12 * (1 + np.abs(array)))
    return "every number is the one that Constructions C give"


def _proof(evidence: _Evidence) -> str:
    """Prove every gate from the stored numbers."""
    evidence.compare("proof", "inputs_covered", "gates", "depth")
    slack = at_least(evidence.shown["proof"]["slack"], 3)
    return f"every gate is right on all 2^{evidence.plan.context} inputs, with slack {slack}"


def _description(evidence: _Evidence) -> str:
    """Compare every entry; refuse one that nothing gives."""
    stated = {name: value for name, value in evidence.stored.description.items() if name not in {"digest", "digests"}}
    compare(evidence.shown, stated)
    return f"all {len(stated)} entries agree with the tables"


def _dense(evidence: _Evidence) -> str:
    """Derive the dense matrices from the tables."""
    fresh, tensors = dense_arrays(evidence.plan), evidence.stored.tensors
    for name in sorted(tensors.keys() ^ (fresh.keys() | tables(evidence.plan).keys())):
        raise CheckpointError(f"{name} {'does not belong here' if name in tensors else 'is missing'}")
    for name, array in fresh.items():
        compare_arrays(array, tensors[name], name, 0.0)
    return f"{len(fresh)} follow from the tables" if fresh else "the file has none, as they would be too large"


CHECKS: Mapping[str, Callable[[_Evidence], str]] = {
    "construction": _construction,
    "proof": _proof,
    "description": _description,
    "dense matrices": _dense,
}
