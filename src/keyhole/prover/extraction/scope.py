"""The scope of proofs: one layer of softmax heads read at [CLS] over a finite alphabet, as tables of doubles."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from keyhole.attention import Model, Softmax, Tabulated, dense, is_safe, numbers_of, saves_rows, tabulate
from keyhole.errors import AssumptionError, ShapeError
from keyhole.prover.proof.tables import Drift

LONGEST = 20_000  # positions; inputs are drawn in full
WIDEST = 64  # symbols


@dataclass(frozen=True, eq=False)
class CertifiableModel:
    """Tables in double precision, and how far those of the weights may lie off.

    Tables that keep a shared row once stay so, where that saves half of the rows; else every position has its row.

    Without drifts the tables are the model. With them the model is the function that the weights define in exact
    arithmetic; weights of single precision are exact as doubles. No implementation is meant.
    """

    tables: Tabulated
    drifts: tuple[Drift, ...] | None = None
    note: str = ""  # how its file says it was repaired before it was written
    of_weights: bool = True  # drifts, if any, are those of tables from their weights, not of tables as given
    assumed: tuple[str, ...] = ()  # what was taken on the word of a description, a sentence each
    described: Mapping[str, Any] | None = None  # the same as plain values


def certifiable(model: Model | Tabulated) -> CertifiableModel:
    """The model as it is certified; refuses, in a sentence, what is out of scope, and tables off by more than 1e-9.

    Where doubles do not hold the tables (sums that cancel, scores too far apart), they are made in more bits.
    """
    if isinstance(model, Model) and len(model.blocks) != 1:
        raise AssumptionError(
            f"A model of {len(model.blocks)} layers was to be certified; after one layer tokens depend on each other, "
            "so only one-layer models read at [CLS] have tables. Certify a one-layer model."
        )
    tabulated = tabulate(in_format(model)) if isinstance(model, Model) else in_format(model)
    if tabulated.tokens > LONGEST or tabulated.symbols > WIDEST:
        raise AssumptionError(
            f"A model of {tabulated.tokens} positions over {tabulated.symbols} symbols was to be certified; up to "
            f"{LONGEST} positions and {WIDEST} symbols are read. `keyhole check` proves compiled models of any length."
        )
    if not all(isinstance(head.normaliser, Softmax) for head in tabulated.heads):
        raise AssumptionError("A head normalises otherwise than by softmax; only softmax heads are certified.")
    for part in _arrays(tabulated):
        if not np.isfinite(part).all():
            raise ShapeError("The model's weights hold NaN or infinity; only finite weights compute a function.")
    if not isinstance(model, Model):
        listed = tabulated.positions
        thin = listed is not None and saves_rows(len(listed), tabulated.tokens)
        tables = tabulated if thin else dense(tabulated)
        if is_safe(tables):
            return CertifiableModel(tables)
        from keyhole.prover.extraction.exact_tables import nearer_tables  # noqa: PLC0415  (hardly ever)

        nearer, moved = nearer_tables(tables)
        _require_safe(nearer)
        return CertifiableModel(nearer, moved, of_weights=False)
    from keyhole.prover.extraction.drift import drifts_of, is_exact_enough, require_exact_enough  # noqa: PLC0415

    given = in_format(model)
    if is_safe(tabulated):
        drifts = drifts_of(given, tabulated)
        if is_exact_enough(drifts, tabulated):
            return CertifiableModel(tabulated, drifts)
    from keyhole.prover.extraction.exact_tables import exact_tables  # noqa: PLC0415  (hardly ever)

    tables, drifts = exact_tables(given, tabulated) or (tabulated, drifts_of(given, tabulated))
    _require_safe(tables)
    require_exact_enough(drifts, tables)
    return CertifiableModel(tables, drifts)


def _require_safe(tables: Tabulated) -> None:
    """Refuse heads whose exponentials leave the range of doubles."""
    if not is_safe(tables):
        raise AssumptionError(
            "A head's scores lie so far apart that their exponentials leave the range of doubles, with too many steps "
            "between them to bring them nearer. Scale its queries down."
        )


def in_format(value: Any, kind: Any = np.float64) -> Any:
    """Return the same record with every array, of whichever library, as numpy's in a number format."""
    if is_array_api_obj(value):
        return numbers_of(value).astype(kind, copy=False)
    if isinstance(value, tuple):
        return tuple(in_format(part, kind) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{part.name: in_format(getattr(value, part.name), kind) for part in fields(value)})
    return value


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple):
        return [array for part in value for array in _arrays(part)]
    if is_dataclass(value):
        return [array for part in fields(value) for array in _arrays(getattr(value, part.name))]
    return []
