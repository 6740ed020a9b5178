"""Schedules: what each asks for at first and then, and what it says of itself."""

import pytest

from keyhole.errors import ArgumentError
from keyhole.lab.thresholds.design import Design
from keyhole.lab.thresholds.schedule import Adaptive, Grid, Online, Schedule

COUNTS = {12: (0, 8), 24: (1, 8), 48: (4, 8), 96: (8, 8)}


@pytest.mark.parametrize("counts", [{}, {24: (0, 8), 48: (0, 8)}, COUNTS])
def test_an_adaptive_schedule_is_its_design(counts):
    """The rounds and the forecast are those of the design; runs on fresh samples are not counted."""
    design = Design(precision=0.3, batch=10)
    schedule = Adaptive(design)
    assert schedule.next_round(counts) == design.next_round(counts)
    assert schedule.remaining(counts) == design.remaining(counts)
    assert schedule.next_round({None: (3, 3), **counts}) == design.next_round(counts)


@pytest.mark.parametrize(("schedule", "sizes"), [(Grid((10, 20), 3), {10: 3, 20: 3}), (Online(4), {None: 4})])
def test_a_fixed_schedule_has_one_round(schedule, sizes):
    """Everything is asked for at once; after any run there is nothing left."""
    assert schedule.next_round({}) == sizes
    assert schedule.remaining({}) == sum(sizes.values())
    assert schedule.next_round({10: (1, 3)}) == {}
    assert schedule.remaining({10: (1, 3)}) == 0


@pytest.mark.parametrize(
    ("schedule", "record"),
    [
        (
            Adaptive(Design(budget=50)),
            {
                "kind": "adaptive",
                "quantile": 0.5,
                "precision": 0.2,
                "confidence": 0.9,
                "start": 32,
                "largest": 65536,
                "batch": 12,
                "budget": 50,
            },
        ),
        (Grid((10, 20), 3), {"kind": "grid", "samples": (10, 20), "seeds": 3}),
        (Online(4), {"kind": "online", "seeds": 4}),
    ],
)
def test_the_record_keeps_its_keys(schedule, record):
    """The kind and every setting, in this order, as they stand in JSON."""
    assert isinstance(schedule, Schedule)
    assert list(schedule.record().items()) == list(record.items())


@pytest.mark.parametrize("make", [lambda: Grid((), 3), lambda: Grid((5,), 0), lambda: Online(0)])
def test_empty_schedules_are_refused(make):
    """No seeds or no sizes is no schedule."""
    with pytest.raises(ArgumentError, match="use at least one"):
        make()
