"""A compiled function as a file: named arrays and a description, and a plan from them again; or a torch module."""

from pathlib import Path
from typing import Any

import numpy as np

from keyhole.boolean import read_function
from keyhole.compiler.compiled import Compiled
from keyhole.compiler.constructions.plan import HeadPlan, Plan, require_shapes
from keyhole.compiler.constructions.registry import construction_of
from keyhole.compiler.export.torch_source import torch_source
from keyhole.errors import CheckpointError, KeyholeError, OutputError
from keyhole.files.atomic import write_file
from keyhole.files.model import StoredModel, write_model
from keyhole.files.record import record_of

DENSE_BYTES = 50_000_000  # dense matrices are stored beside the tables up to this size
PARTS = ("focus", "values", "rest_logits", "rest_values", "cls_values")  # the last only where [CLS] has a value


def save_model(compiled: Compiled, path: Path) -> Path:
    """Write the format of the file's ending: .safetensors (what `keyhole.check` reads) or .py (a torch module).

    The first holds tables, dense matrices where they fit, and the description with the certificate.
    """
    ending = path.suffix.lower()
    if ending == ".py":
        return write_file(path, torch_source(compiled.plan, compiled.proof).encode())
    if ending != ".safetensors":
        raise OutputError(f"{str(path)!r} ends in none of .safetensors and .py; use one of them.")
    return write_model(path, tables(compiled.plan) | dense_matrices(compiled.plan), description_of(compiled))


def description_of(compiled: Compiled) -> dict[str, Any]:
    """Return the description of a file: all that can be made again from its arrays, so not why the plan was chosen."""
    plan = compiled.plan
    entries = {name: value for name, value in record_of(compiled).items() if name not in {"why", "rounding_assumes"}}
    return entries | {"units": plan.units, "dense": dense_size(plan) <= DENSE_BYTES}


def tables(plan: Plan) -> dict[str, np.ndarray]:
    """The plan's numbers: relevant rows, and what all other positions share."""
    arrays = {
        f"tables.head{index}.{part}": np.asarray(getattr(head, part), dtype=np.float64)
        for index, head in enumerate(plan.heads)
        for part in PARTS
        if getattr(head, part) is not None
    }
    return arrays | {"tables.readout": plan.readout}


def dense_size(plan: Plan) -> int:
    """Bytes of all embedded tokens, key vectors and value matrices."""
    embedding = 2 * plan.context * plan.dimension + plan.dimension
    return 8 * (embedding + len(plan.heads) * plan.dimension * (plan.width + 1))


def dense_matrices(plan: Plan) -> dict[str, np.ndarray]:
    """The weights as matrices; nothing where they would be large.

    Token t showing b is row (t, b) of the embedding; its logit is its product with the key vector, and what the units
    read of it its product with the value matrix.
    """
    if dense_size(plan) > DENSE_BYTES:
        return {}
    embedding = plan.layout.embedding()
    arrays = {"dense.embedding": embedding.rows(0, plan.context), "dense.cls": embedding.cls}
    for index, head in enumerate(plan.heads):
        arrays[f"dense.head{index}.key"] = plan.key_vector(head)
        arrays[f"dense.head{index}.value"] = plan.value_matrix(head)
    return arrays | {"dense.readout": plan.readout}


def load_plan(stored: StoredModel) -> Plan:
    """The plan whose tables and description were stored; its numbers are the stored ones, whatever they are."""
    described = stored.description
    if "circuit" in described:
        raise CheckpointError("The file holds a compiled circuit, not one layer; `keyhole check` proves it anew.")
    try:
        function = read_function(described["function"])
        heads, tensors = [], stored.tensors
        for index in range(int(described["heads"])):
            parts: dict[str, Any] = {part: tensors[f"tables.head{index}.{part}"] for part in PARTS[:-1]}
            if parts["rest_logits"].ndim == 0:
                parts["rest_logits"] = float(parts["rest_logits"])
            heads.append(HeadPlan(**parts, cls_values=tensors.get(f"tables.head{index}.{PARTS[-1]}")))
        seed = described["codes_seed"]
        layout = construction_of(str(described["construction"])).layout
        plan = Plan(
            function=function,
            layout=layout.stored(
                int(described["context"]), int(described["dimension"]), None if seed is None else int(seed)
            ),
            output="bits" if described["output"] == "bits" else "signs",
            construction=str(described["construction"]),
            heads=tuple(heads),
            readout=tensors["tables.readout"],
            units=tuple(str(unit) for unit in described["units"]),
            parameters={str(name): float(value) for name, value in described["parameters"].items()},
        )
    except KeyholeError:  # already a sentence
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"The description or a table lacks what a plan needs: {error!r}.") from error
    require_shapes(plan)
    for name, array in tables(plan).items():
        if not np.isfinite(array).all():
            raise CheckpointError(f"{name} holds NaN or infinity.")
    return plan
