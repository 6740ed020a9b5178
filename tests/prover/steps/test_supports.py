"""Supports of classes: below every word of the class, near one word of it for one head; never above for several."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.prover.steps.cells import Prover
from keyhole.prover.steps.supports import Supports
from keyhole.prover.steps.tables import Tables
from keyhole.prover.steps.walks import Step, last_symbols

from helpers.step_models import random_claim, random_model


def outputs_of(step, words):
    """The coordinates of words of a step, from the middle of its tables."""
    prompts, answers = step.claim.shown(words)
    shown = np.hstack([prompts, answers[:, : step.number]])
    sums = step.view.features.mid[np.arange(shown.shape[1]), shown].sum(axis=1)
    z = np.zeros((len(words), sum(group.width for group in step.view.groups)))
    first = np.concatenate([[0], np.cumsum([width + 1 for width in step.view.widths])])
    for group in step.view.groups:
        for head in group.heads:
            part = sums[:, first[head] : first[head] + group.width]
            z[:, group.first : group.first + group.width] += part / sums[:, first[head] + group.width, None]
    return z, shown[:, -1], answers[:, step.number]


def members(step, classes, words):
    """Which words each class has: those with its symbols, or symbols that show equal rows, and its state."""
    state = np.full(len(words), step.claim.start)
    states = [state]
    for place, column in enumerate(step.claim.columns):
        state = column.moves[state, words[:, place]]
        states.append(state)

    def rows(place, symbol):
        column = step.claim.columns[place]
        shown = np.stack([step.same[at, column.shows[symbol, k]] for k, at in enumerate(column.places)] or [0 * symbol])
        return np.sort(shown, axis=0)

    own = []
    for i in range(len(classes.state)):
        inside = (states[classes.first] == classes.state[i]) & (states[step.number + 1] == classes.after[i])
        for k, symbol in enumerate(classes.symbols[i]):
            place = classes.first + k
            inside &= (rows(place, words[:, place]) == rows(place, np.full(len(words), symbol))).all(axis=0)
        own.append(inside)
    return np.array(own)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_supports_are_below_every_word_and_met_by_one(seed):
    """h(u) ≤ u·z for every word of the class; for one head some word is within 1e-9 of it; `words` are of the class."""
    rng = np.random.default_rng(seed)
    claim = random_claim(rng)
    model = random_model(rng, claim.prompt + len(claim.columns))
    number = int(rng.integers(len(claim.columns)))
    last = int(rng.choice(last_symbols(claim, number)))
    tables = Tables(model, claim.prompt + len(claim.columns) - 1)
    step = Step(claim, number, last, tables.view(claim.prompt + number - 1, last), tables.same)
    supports, classes = Supports(step), step.classes
    if classes.first and rng.random() < 0.5:
        classes = step.finer(classes, np.arange(len(classes.state)))
    words = claim.every_word()
    z, seen, answers = outputs_of(step, words)
    own = members(step, classes, words) & (seen == last)
    own &= answers == classes.answer[:, None]
    assert own.sum(axis=1).tolist() == step.words_in(classes)
    prompts, right = claim.shown(words)
    logits = model.logits(np.hstack([prompts, right[:, :number]]))
    beaten = logits.argmax(axis=1) != right[:, number]
    with np.errstate(all="ignore"):
        flagged = Prover(model, step).wrong(classes)
    assert all(beaten[mine].all() for mine in own[flagged]), "a class that is wrong as a whole has a right word"
    u = rng.normal(size=(len(own), z.shape[1]))
    index = np.arange(len(own))
    below = supports.below(classes, index, u)
    least = np.array([(z[mine] @ direction).min() for mine, direction in zip(own, u, strict=True)])
    scale = 1 + np.abs(z).max()
    assert (below <= least + 1e-12 * scale).all()
    if len(model.heads) == 1:
        assert (below >= least - 1e-9 * scale).all()
        met = np.einsum("nr,nr->n", outputs_of(step, supports.words(classes, index, u))[0], u)
        assert (np.abs(met - least) < 1e-9 * scale).mean() >= 0.5  # a word of hardly any weight may pass for the least
    found = supports.words(classes, index, u)
    place = {tuple(word): i for i, word in enumerate(words.tolist())}
    assert all(own[i, place[tuple(word)]] for i, word in enumerate(found.tolist()))
