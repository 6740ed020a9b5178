"""Tasks and learners by name, and back from their records."""

from collections.abc import Mapping
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.lab.learners.base import Learner
from keyhole.lab.learners.baselines import YARDSTICKS, yardstick
from keyhole.lab.learners.presets import preset
from keyhole.lab.learners.transformer import Transformer
from keyhole.lab.runs.spec import NUMERICS, Cell
from keyhole.lab.task import SparseTask, Task

LEARNERS = ("transformer", *YARDSTICKS)


def learner_named(name: str, *, preset_name: str = "default") -> Learner:
    """The learner a person names; a transformer takes the settings of a preset, of its own as transformer:paper."""
    kind, _, own = name.partition(":")
    if kind == "transformer":
        return preset(own or preset_name)
    if (found := yardstick(name)) is not None:
        return found
    raise ArgumentError(f"There is no learner {name!r}; there are {', '.join(LEARNERS)}.")


def learner_from(record: Mapping[str, Any]) -> Learner:
    """The learner a record was made of."""
    settings = {name: value for name, value in record.items() if name != "name"}
    if record["name"] == "transformer":
        return Transformer(**settings)
    if (found := yardstick(record["name"], settings.get("settings"))) is not None:
        return found
    raise ArgumentError(f"There is no learner {record['name']!r}; there are {', '.join(LEARNERS)}.")


def task_from(record: Mapping[str, Any]) -> Task:
    """The task a record was made of."""
    return SparseTask(**record)


def cell_from(record: Mapping[str, Any]) -> Cell:
    """The cell a record was made of; refuses one whose numbers would come out differently now."""
    if record["numerics"] != NUMERICS:
        raise ArgumentError(
            f"The run was made with numerics {record['numerics']}, and this is numerics {NUMERICS}: it cannot be made "
            "again to the bit. Use the version it was made with."
        )
    task, learner = task_from(record["task"]), learner_from(record["learner"])
    return Cell(task, learner, record["context"], record["samples"], record["seed"])
