"""A plan: sweeps with every setting spelled out, the laws they are judged by, and the numbers of the decision rule.

As a TOML file it repeats a sweep exactly. Its hash names what was planned: it is that of the values, so that spacing
and comments do not count. The standard library reads TOML and does not write it, so `write_plan` does.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from keyhole.errors import ArgumentError, KeyholeError
from keyhole.estimate import Estimate
from keyhole.sweeps.laws import LAWS, RULE, GrowthLaw, fit_law, read_laws, read_points
from keyhole.sweeps.thresholds import SweepPlan, Threshold, schedule_from_record
from keyhole.training import task_from_record
from keyhole.training.learners import learner_from_record

FORMAT = 1  # raised when the fields of a plan change
PLAIN = re.compile(r"[ !#-\[\]-~\n]*")  # text that a literal block of TOML needs no escapes for


@dataclass(frozen=True)
class Plan:
    """Sweeps by name, and how they are judged."""

    sweeps: Mapping[str, SweepPlan]
    laws: tuple[str, ...] = tuple(law.name for law in LAWS)
    title: str = ""
    notes: str = ""  # what was fixed beforehand besides, in words

    def record(self) -> dict[str, Any]:
        """Every value, defaults included."""
        return {
            "plan": FORMAT,
            "numerics": self.numerics,
            "title": self.title,
            "notes": self.notes,
            "laws": list(self.laws),
            "rule": RULE,
            "sweep": [
                {
                    "name": name,
                    "contexts": list(sweep.contexts),
                    "quantile": sweep.quantile,
                    "confidence": sweep.confidence,
                    "first_seed": sweep.first_seed,
                    "task": sweep.task.record(),
                    "learner": sweep.learner.record(),
                    "schedule": json.loads(json.dumps(sweep.schedule.record())),
                }
                for name, sweep in self.sweeps.items()
            ],
        }

    @property
    def numerics(self) -> int:
        """The highest of its learners."""
        return max((sweep.learner.numerics for sweep in self.sweeps.values()), default=1)

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON of the record."""
        canonical = json.dumps(self.record(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def contexts(self) -> tuple[int, ...]:
        """The contexts of all sweeps, in order."""
        return tuple(sorted({context for sweep in self.sweeps.values() for context in sweep.contexts}))


def write_plan(plan: Plan) -> str:
    """The plan as TOML, every default spelled out."""
    record = plan.record()
    sweeps = record.pop("sweep")
    lines = [*_table({name: value for name, value in record.items() if name != "rule"}, ""), "[rule]"]
    lines += [*_table(record["rule"], ""), ""]
    for sweep in sweeps:
        parts = {name: value for name, value in sweep.items() if isinstance(value, dict)}
        lines += ["[[sweep]]", *_table({name: sweep[name] for name in sweep if name not in parts}, ""), ""]
        for name, part in parts.items():
            lines += [f"[sweep.{name}]", *_table(part, f"sweep.{name}"), ""]
    return "\n".join(lines).rstrip() + "\n"


def read_plan(path: str | Path) -> Plan:
    """The plan of a TOML file; refused where it was fixed with other numerics or another rule than this version has."""
    path = Path(path)
    try:
        record = tomllib.loads(path.read_text("utf8"))
    except OSError as error:
        raise ArgumentError(f"The plan {str(path)!r} cannot be read: {error.strerror}. Name a plan file.") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"The plan {str(path)!r} is not text; name a TOML file.") from error
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"The plan {str(path)!r} is not TOML: {error}. Save one anew, or mend it.") from error
    return plan_from_record(record, str(path))


def plan_from_record(record: Mapping[str, Any], path: str = "plan") -> Plan:
    """Return the plan that a record was made of; raise where this version would do something else."""
    if record.get("plan") != FORMAT:
        raise ArgumentError(f"The file {path!r} is not a plan of format {FORMAT}; save one with `keyhole learn --out`.")
    if record.get("rule") != RULE:
        raise ArgumentError(
            f"The plan {path!r} was fixed with the rule {record.get('rule')}, and this version decides by {RULE}. Use "
            "the version it was fixed with, or fix a new plan."
        )
    try:
        given = _without_unset(dict(record))
        sweeps = {
            str(sweep["name"]): SweepPlan(
                task_from_record(sweep["task"]),
                learner_from_record(sweep["learner"]),
                tuple(int(context) for context in sweep["contexts"]),
                schedule_from_record(sweep["schedule"]),
                float(sweep["quantile"]),
                float(sweep["confidence"]),
                int(sweep["first_seed"]),
            )
            for sweep in given["sweep"]
        }
        plan = Plan(sweeps, tuple(given["laws"]), str(given["title"]), str(given["notes"]))
        read_laws(plan.laws)
        strange = sorted(_differences(_without_apart(given), json.loads(json.dumps(plan.record()))))
    except KeyholeError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        lack = f"lacks {error}" if isinstance(error, KeyError) else f"has a value of another kind ({error})"
        raise ArgumentError(f"The plan {path!r} {lack}. Save one to see every field.") from error
    if not sweeps or len(sweeps) < len(record["sweep"]):
        raise ArgumentError(f"The plan {path!r} has no sweep, or two sweeps of one name; give each its own.")
    if mistyped := sorted(_mistyped(list(sweeps.values()), "sweep")):
        raise ArgumentError(
            f"The plan {path!r} has values of another kind: {', '.join(mistyped)}. Save one to see every field."
        )
    if not all(name and name.isprintable() for name in (*sweeps, plan.title or "-")):
        raise ArgumentError(f"The plan {path!r} has a name or a title that cannot be printed; give a line of text.")
    if record.get("numerics") != plan.numerics:
        raise ArgumentError(
            f"The plan {path!r} was fixed with numerics {record.get('numerics')}, and this version has {plan.numerics} "
            "for its learners: its runs would come out otherwise. Use the version it was fixed with."
        )
    if strange:
        raise ArgumentError(
            f"The plan {path!r} has fields or kinds of values that are not those of a plan: {', '.join(strange)}. "
            "Save one to see every field."
        )
    return plan


def _table(values: Mapping[str, Any], place: str) -> Iterator[str]:
    """The lines of a table; what is None is listed as unset, since TOML has no word for it; tables within come last."""
    unset = [name for name, value in values.items() if value is None]
    for name, value in values.items():
        if value is not None and not isinstance(value, Mapping):
            yield f"{name} = {_spelt(value)}"
    if unset:
        yield f"unset = {json.dumps(unset)}"
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ("", f"[{place}.{name}]", *_table(value, f"{place}.{name}"))


def _spelt(value: Any) -> str:
    """A value as TOML has it, which for these values is as JSON has it; plain paragraphs are written as such."""
    if isinstance(value, str) and "\n" in value and PLAIN.fullmatch(value):
        return f'"""\n{value}"""'
    return json.dumps(value, ensure_ascii=False)


def _without_unset(values: Any) -> Any:
    """The values with None for each name that is listed as unset, at every depth."""
    if isinstance(values, list):
        return [_without_unset(value) for value in values]
    if not isinstance(values, dict):
        return values
    values_set = {name: _without_unset(value) for name, value in values.items() if name != "unset"}
    return values_set | dict.fromkeys(values.get("unset", ()))


def _without_apart(record: dict[str, Any]) -> dict[str, Any]:
    """The record as plans were written before contexts shared widths: a schedule that keeps them apart names none."""
    for sweep in record["sweep"]:
        if sweep["schedule"].get("widths") == "apart":
            del sweep["schedule"]["widths"]
    return record


def _differences(given: Any, spelt: Any, place: str = "") -> Iterator[str]:
    """Name the places where the given values differ from those of the plan."""
    if isinstance(given, dict) and isinstance(spelt, dict):
        for name in given.keys() | spelt.keys():
            yield from _differences(given.get(name), spelt.get(name), f"{place}.{name}".lstrip("."))
    elif isinstance(given, list) and isinstance(spelt, list) and len(given) == len(spelt):
        for one, other in zip(given, spelt, strict=True):
            yield from _differences(one, other, place)
    elif given != spelt or not (type(given) is type(spelt) or (type(given), type(spelt)) == (int, float)):
        yield place


def _mistyped(value: Any, place: str, kind: Any = None) -> Iterator[str]:
    """Name the places where a value is not of its field's kind; a whole number is a number, and a truth is not."""
    if is_dataclass(value):
        kinds = get_type_hints(type(value))
        for field in fields(value):
            yield from _mistyped(getattr(value, field.name), f"{place}.{field.name}", kinds[field.name])
    elif (kind in (bool, int, str) and type(value) is not kind) or (
        kind in (float, float | None)
        and not (value is None and kind is not float)
        and not (type(value) in {int, float} and isfinite(value))
    ):
        yield place
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _mistyped(part, place, int if kind == tuple[int, ...] else None)


DRAWS = 400  # data sets redrawn, each point by its error
CONFIDENCE = 0.9  # of the intervals
LEAST = 3  # points that a law is fitted to, at least


@dataclass(frozen=True)
class Prediction:
    """A law's prediction of the longest context from the others, with its interval."""

    law: str
    formula: str
    context: int
    predicted: Estimate
    off: float  # ln(measured/predicted) in standard errors of both


def predict_longest(thresholds: Sequence[Threshold], laws: Sequence[GrowthLaw]) -> tuple[Prediction, ...]:
    """m* at the longest context as each law predicts it from all shorter ones, nearest first.

    Nothing is predicted where fewer than three shorter contexts, or the longest, are bounded on one side only.
    """
    points = read_points(thresholds, CONFIDENCE)
    last = len(points.contexts) - 1
    if last < LEAST or (points.side[:last] == 0).sum() < LEAST or points.side[last] != 0:
        return ()
    shorter, longest = points.subset(np.arange(last)), points.contexts[last:]
    redrawn = shorter.resampled(DRAWS, 1.0, np.random.default_rng(0))
    predictions = []
    for law in laws:
        middle = float(fit_law(shorter, law).ln_values(longest)[0, 0])
        spread = fit_law(redrawn, law).ln_values(longest)[:, 0]
        low, high = np.quantile(spread, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        error = float(np.hypot(points.errors[last], spread.std()))
        value = Estimate(*(float(np.exp(end)) for end in (middle, min(low, middle), max(high, middle))))
        off = (float(points.values[last]) - middle) / error
        predictions.append(Prediction(law.name, law.formula, int(longest[0]), value, off))
    return tuple(sorted(predictions, key=lambda prediction: abs(prediction.off)))
