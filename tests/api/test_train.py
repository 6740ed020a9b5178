"""A watched run is the run that `learn` makes; its frames say where the heads look."""

import numpy as np
import pytest

from keyhole.api.compile import compile as compile_function
from keyhole.api.learn import Execution, Schedule, learn
from keyhole.api.runs import runs, show_run
from keyhole.api.train import Frame, mean_attention, train
from keyhole.apps.ledger.training.sparse_heads import before_and_after
from keyhole.attention import tabulate
from keyhole.errors import ArgumentError

SMALL = {"heads": 2, "width": 8, "hidden": 8, "steps": 40, "every": 20}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A small run, the events it sent, and its store."""
    folder, heard = tmp_path_factory.mktemp("train"), []
    return train("and:2", 6, 40, settings=SMALL, store=folder, watch=heard.append), heard, folder


@pytest.mark.slow
def test_every_reading_is_a_frame(watched):
    """Frames are those that `watch` heard, a reading and a row of shares per head each; shares are below 1 in sum."""
    answer, heard, _ = watched
    assert [event.detail for event in heard if isinstance(event.detail, Frame)] == list(answer.frames)
    assert len(answer.frames) == len(show_run(answer.run.identity[:10], store=watched[2]).result.readings)
    for frame in answer.frames:
        shares = np.array(frame.attention)
        assert shares.shape == (2, 6)
        assert np.all(shares > 0)
        assert np.all(shares.sum(axis=1) < 1)


@pytest.mark.slow
def test_attention_before_and_after(watched):
    """Before the first step attention is near uniform, as the start draws it; the figure has every position twice.

    What was before is a line, so that it hides nothing of what is after.
    """
    answer = watched[0]
    start = np.array(answer.start)
    assert start.shape == (2, 6)
    assert np.abs(start - 1 / 7).max() < 0.05
    figure = before_and_after(answer)
    rows = [row for layer in (figure, *figure.over) for row in layer.rows]
    assert [layer.kind for layer in (figure, *figure.over)] == ["points", "curves"]
    best = answer.best_head
    drawn = {(row["position"], row["when"].split(",")[0]): row["share"] for row in rows}
    assert len(drawn) == 12
    for place in range(6):
        assert drawn[place, "before training"] == answer.start[best][place]
        assert drawn[place, "after training"] == answer.frames[-1].attention[best][place]
    marked = {row["position"] for row in figure.rows if row["when"].endswith("relevant position")}
    assert marked == set(answer.positions)
    masses = [sum(row[place] for place in answer.positions) for row in answer.frames[-1].attention]
    assert masses[best] == max(masses)


@pytest.mark.slow
def test_a_watched_run_is_that_of_learn(watched):
    """`learn` finds the run in the store, and makes none."""
    answer, _, folder = watched
    schedule, execution = Schedule(samples=(40,), seeds=1), Execution(folder, 1)
    swept = learn("and:2", [6], schedule=schedule, execution=execution, settings=SMALL)
    assert swept.made == 0
    assert swept.sweep.rows[0].identity == answer.run.identity
    assert len(runs(store=folder).runs) == 1


@pytest.mark.slow
def test_a_watched_run_shows_and_draws_itself(watched):
    """The text names the run, and the figure has a point for every reading."""
    answer = watched[0]
    assert answer.run.identity[:10] in str(answer)
    assert {row["step"] for row in answer.figure().rows} == {20, 40}


def test_mean_attention_is_that_of_the_layer():
    """For a compiled head, whose attention is the same on every input, the mean is that attention."""
    model = compile_function("x1 & x3", 6, construction="pair").model
    inputs = np.random.default_rng(0).integers(0, 2, (5, 6))
    (shares,) = mean_attention(model, inputs)
    head = tabulate(model).heads[0]
    for bits in inputs:
        weights = head.normaliser(np.append(head.scores[np.arange(6), bits], head.cls_score))
        assert np.allclose(shares, weights[:-1], atol=1e-12)


@pytest.mark.parametrize(("context", "samples", "seed"), [(0, 5, 0), (5000, 5, 0), (6, 0, 0), (6, 5, -1)])
def test_what_cannot_be_trained_is_a_sentence(context, samples, seed, tmp_path):
    """A context, a size or a seed out of range is refused before anything is trained."""
    with pytest.raises(ArgumentError):
        train("and:2", context, samples, seed=seed, store=tmp_path)
