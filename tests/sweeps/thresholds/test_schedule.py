"""Schedules: what each asks for at first and then, and what it says of itself."""

import pytest

from keyhole.errors import ArgumentError
from keyhole.sweeps.thresholds.design import Design, Grid, Online, Rounds, schedule_from_record
from keyhole.sweeps.thresholds.shared_width import width_beside

COUNTS = {12: (0, 8), 24: (1, 8), 48: (4, 8), 96: (8, 8)}


@pytest.mark.parametrize("counts", [{}, {24: (0, 8), 48: (0, 8)}, COUNTS])
def test_a_design_does_not_count_runs_on_fresh_samples(counts):
    """The rounds and the forecast are those of the training sets."""
    design, every = Design(precision=0.3, batch=10), {None: (3, 3), **counts}
    assert design.next_round(every) == design.next_round(counts)
    assert design.remaining(every) == design.remaining(counts)


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
            Design(budget=50),
            {
                "kind": "adaptive",
                "quantile": 0.5,
                "precision": 0.2,
                "confidence": 0.9,
                "start": 32,
                "largest": 65536,
                "batch": 12,
                "budget": 50,
                "widths": "shared",
            },
        ),
        (Grid((10, 20), 3), {"kind": "grid", "samples": (10, 20), "seeds": 3}),
        (Online(4), {"kind": "online", "seeds": 4}),
    ],
)
def test_the_record_keeps_its_keys(schedule, record):
    """The kind and every setting, in this order, as they stand in JSON."""
    assert isinstance(schedule, Rounds)
    assert list(schedule.record().items()) == list(record.items())


def test_plans_from_before_widths_were_shared_keep_them_apart():
    """A record without the field is that of widths apart, and is written without it: the plan's hash stays."""
    shared = Design(budget=50)
    older = {name: value for name, value in shared.record().items() if name != "widths"}
    assert schedule_from_record(older) == Design(budget=50, widths="apart")
    assert schedule_from_record(older).record() == older
    assert schedule_from_record(shared.record()) == shared


def test_what_a_schedule_was_told_is_not_in_its_record():
    """The prior is found again from the runs; widths apart are told nothing."""
    counts = {30: (2, 12), 60: (6, 12), 120: (11, 12)}
    told = Design().beside({}, [counts, counts, {None: (3, 3)}])
    assert told.prior == width_beside({}, [counts, counts], 0.5) != Design().prior
    assert told.record() == Design().record()
    apart = Design(widths="apart")
    assert apart.beside({}, [counts]) is apart
    assert told.shared
    assert not any(each.shared for each in (apart, Grid((10,), 3), Online(3)))


@pytest.mark.parametrize("make", [lambda: Grid((), 3), lambda: Grid((5,), 0), lambda: Online(0)])
def test_empty_schedules_are_refused(make):
    """No seeds or no sizes is no schedule."""
    with pytest.raises(ArgumentError, match="use at least one"):
        make()
