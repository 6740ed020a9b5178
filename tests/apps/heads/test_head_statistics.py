"""Statistics of weights with known answers; streaming over batches changes nothing; the rule gives its verdicts."""

import numpy as np
import pytest

from keyhole.apps.heads.controls import controlled
from keyhole.apps.heads.head_statistics import NAMES, Given, HeadUse, head_use, row_statistics
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.errors import DataError

from helpers import tiny_checkpoints as tiny
from helpers.plain_forward import run


def statistics(weights, sinks=(), *, causal=False):
    """The statistics of one map, by name, with all keys and rows."""
    T = len(weights)
    allowed = np.tri(T, dtype=bool) if causal else np.ones((T, T), dtype=bool)
    at = np.isin(np.arange(T), sinks)
    found = row_statistics(np.array(weights, dtype=float)[None, None], allowed[None], np.ones((1, T), bool), at[None])
    return dict(zip(NAMES, found[0, 0], strict=True))


def test_uniform_weights():
    """Uniform weights: entropy 1, support n, largest 1/n, at distance 0."""
    found = statistics(np.full((5, 5), 0.2), sinks=[0])
    wanted = {"entropy": 1, "support": 5, "share": 1, "largest": 0.2, "distance": 0, "self": 0.2, "sink": 0.2}
    wanted |= {"previous": 0.2, "next": 0.2, "first": 0.2}
    assert found == pytest.approx(wanted, abs=1e-12)


def test_one_key():
    """All weight on the row before: support 1, distance 1 − 1/n, and rows without one are left out of that role."""
    weights = np.roll(np.eye(4), -1, axis=1)  # row 0 looks at the last
    found = statistics(weights)
    wanted = {"entropy": 0, "support": 1, "largest": 1, "distance": 0.75, "previous": 1, "next": 0, "self": 0}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-12)


def test_nothing_left_without_sinks():
    """A row with all its weight on keys that are taken out does not count: it is not sparse, it is a sink's."""
    weights = np.zeros((1, 1, 3, 3))
    weights[..., 0] = 1.0
    sinks = np.array([[True, False, False]])
    found = row_statistics(weights, np.broadcast_to(~sinks[:, None, :], (1, 3, 3)), ~sinks, sinks)
    assert np.isnan(found).all()
    weights[0, 0, 1] = 0, 0.5, 0.5
    found = row_statistics(weights, np.broadcast_to(~sinks[:, None, :], (1, 3, 3)), ~sinks, sinks)
    assert found[0, 0, NAMES.index("entropy")] == pytest.approx(1)
    table = np.full((1, 1, 1, len(NAMES)), np.nan)
    kept = np.zeros_like(table)
    kept[..., NAMES.index("sink")] = 1.0
    assert HeadUse(kept, table, ordered=True).verdicts() == ((("sink", "nothing left"),),)


def test_causal_rows_by_what_they_see():
    """Row t of a causal model has t + 1 keys: uniform over them is uniform, and the first row, of one key, is out."""
    weights = np.tri(4) / np.arange(1, 5)[:, None]
    found = statistics(weights, causal=True)
    assert found["entropy"] == pytest.approx(1)
    assert found["support"] == pytest.approx((2 + 3 + 4) / 3)
    assert found["distance"] == pytest.approx(0)


def model_of(family=tiny.bert):
    """A tiny model, and inputs of several lengths whose first and last rows are sinks."""
    arrays, config = family()
    model = prepare(load_checkpoint(arrays, config=config))
    rng = np.random.default_rng(3)
    texts = [rng.integers(0, tiny.SYMBOLS, size=length) for length in (4, 11, 7, 5, 9)]

    def give(index):
        sinks = np.zeros(len(texts[index]), dtype=bool)
        sinks[[0, -1]] = True
        return Given(model.embed(texts[index]), sinks)

    return model, texts, give


@pytest.mark.parametrize("family", [tiny.bert, tiny.gpt2])
def test_by_hand(family):
    """Each input's entropy and sink weight, with sinks and without, are those computed from its own plain maps."""
    model, texts, give = model_of(family)
    use = head_use(model, [len(text) for text in texts], give)
    for index, text in enumerate(texts):
        _, maps = run(model.checkpoint, text)
        for layer, head in np.ndindex(maps.shape[:2]):
            kept, without, sink = [], [], []
            for t, row in enumerate(maps[layer, head]):
                keys = range(t + 1) if model.checkpoint.causal else range(len(text))
                if len(keys) >= 2:
                    kept.append(-sum(row[s] * np.log(row[s]) for s in keys) / np.log(len(keys)))
                    sink.append(sum(row[s] for s in keys if s in (0, len(text) - 1)))
                clear = [s for s in keys if s not in (0, len(text) - 1)]
                if t not in (0, len(text) - 1) and len(clear) >= 2:
                    rest = np.array([row[s] for s in clear]) / sum(row[s] for s in clear)
                    without.append(-(rest * np.log(rest)).sum() / np.log(len(clear)))
            at = NAMES.index("entropy")
            assert use.kept[index, layer, head, at] == pytest.approx(np.mean(kept), abs=1e-9)
            assert use.kept[index, layer, head, NAMES.index("sink")] == pytest.approx(np.mean(sink), abs=1e-9)
            if without:
                assert use.without[index, layer, head, at] == pytest.approx(np.mean(without), abs=1e-9)
            else:
                assert np.isnan(use.without[index, layer, head, at])


def use_of(**values):
    """One head with these averages, the same with sinks and without."""
    table = np.array([values.get(name, 0.0) for name in NAMES])[None, None, None]
    return HeadUse(table, table, ordered=values.get("ordered", True))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"entropy": 0.97, "share": 0.9}, ("near-uniform", "near-uniform")),
        ({"entropy": 0.3, "share": 0.2, "previous": 0.3, "self": 0.21}, ("local", "local")),
        ({"entropy": 0.3, "share": 0.2, "previous": 0.3, "self": 0.21, "ordered": False}, ("sparse", "sparse")),
        ({"entropy": 0.3, "share": 0.24}, ("sparse", "sparse")),
        ({"entropy": 0.3, "share": 0.26}, ("broad", "broad")),
        ({"entropy": 0.97, "share": 0.9, "sink": 0.51}, ("sink", "near-uniform")),
        ({"entropy": 0.97, "share": 0.9, "sink": 0.49}, ("near-uniform", "near-uniform")),
    ],
)
def test_the_rule(values, wanted):
    """The verdict with sinks and that without, on each side of each limit."""
    assert use_of(**values).verdicts() == ((wanted,),)


def test_controls():
    """Shuffling keeps the entries of W_Q and W_K; redrawing small weights makes all heads near-uniform."""
    model, texts, give = model_of()
    mixed = controlled(model, "shuffled", seed=1)
    for before, after in zip(model.layers, mixed.layers, strict=True):
        assert np.array_equal(np.sort(before.attention.query, axis=None), np.sort(after.attention.query, axis=None))
        assert not np.array_equal(before.attention.key, after.attention.key)
        assert before.attention.value is after.attention.value
    drawn = head_use(controlled(model, "random"), [len(text) for text in texts], give)
    assert {one for row in drawn.verdicts() for one, _ in row} == {"near-uniform"}


def test_too_short():
    """Inputs of sinks alone, and no inputs, are refused."""
    model, texts, give = model_of()
    with pytest.raises(DataError, match="nothing to choose from"):
        head_use(model, [4], lambda _: Given(give(0).rows, np.ones(4, dtype=bool)))
    with pytest.raises(DataError, match="at least one"):
        head_use(model, [], give)
    assert len(texts) == 5
