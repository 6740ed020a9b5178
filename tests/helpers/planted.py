"""Planted models: a head that reads a junta's positions as one number, and units that look its answer up."""

from dataclasses import replace

import numpy as np

from keyhole.attention.layers import Affine, FeedForward, ReLU
from keyhole.attention.tables import Tabulated, TabulatedHead
from keyhole.attention.weights import ReadOut, Wiring
from keyhole.boolean.families import conjunction, disjunction, majority, parity, random_junta, read_function
from keyhole.boolean.junta import Junta


def planted(junta, tokens, *, noise=0.0, seed=0, focus=6.0):
    """A model of the junta: with r = Σ_i A^i a_i read off by attention, f is the table's answer at r, ±1.

    Scores are `focus` at the positions and 0 elsewhere, for every symbol, so that Z is constant; `noise` moves the
    scores and values of the other positions.
    """
    rng = np.random.default_rng(seed)
    s, symbols = junta.sparsity, junta.symbols
    scores, values = np.zeros((tokens, symbols)), np.zeros((tokens, symbols, 1))
    scores += noise * rng.normal(size=scores.shape)
    values += noise * rng.normal(size=values.shape)
    places = list(junta.positions)
    scores[places] = focus
    values[places, :, 0] = np.arange(symbols) * symbols ** np.arange(s)[:, None]
    mass = s * np.exp(focus) + tokens - s + 1
    levels = np.where(junta.table, 1.0, -1.0)
    slopes = np.diff(levels, append=levels[-1])
    kinks = np.diff(slopes, prepend=0.0)  # f(r) = f(0) + Σ_j kink_j ReLU(r − j)
    inner = Affine(np.full((1, len(levels)), mass / np.exp(focus)), -np.arange(len(levels), dtype=float))
    wiring = Wiring(feedforward=FeedForward(inner, ReLU(), Affine(kinks[:, None], np.zeros(1))))
    head = TabulatedHead(scores, values, np.zeros(()), np.zeros(1))
    return Tabulated(tokens, (head,), np.zeros(1), wiring, ReadOut(np.ones(1), np.asarray(levels[0])))


def leaky(junta, tokens, focus=6.0):
    """A planted 2-AND that only a chosen background breaks: all other tokens at 1 take a sixth of the mass, and more.

    At both ones r = 3 falls below 5/2, where the answer turns, once the other tokens add a fifth of the mass; each
    adds a share of that, so that nearly all of them must be 1.
    """
    model = planted(junta, tokens, focus=focus)
    head = model.heads[0]
    others = [place for place in range(tokens) if place not in junta.positions]
    scores = head.scores.copy()
    scores[others, 1] = np.log(1 + 1.04 * (2 * np.exp(focus) + tokens - 1) / 5 / len(others))
    return replace(model, heads=(replace(head, scores=scores),))


def tent(tokens=11):
    """A model that answers true near half of the tokens at 1, where no input lies, and where all of them are.

    With an odd number T of tokens its output is −1 for nearly every input, and 3 at the mean of all, k = T/2.
    """
    values = np.tile(np.array([[0.0], [tokens + 1.0]]), (tokens, 1, 1))
    head = TabulatedHead(np.zeros((tokens, 2)), values, np.zeros(()), np.zeros(1))
    bends = np.array([tokens / 2 - 0.4, tokens / 2, tokens / 2 + 0.4, tokens - 0.5])
    outer = Affine(np.array([[10.0], [-20.0], [10.0], [10.0]]), np.array([-1.0]))
    wiring = Wiring(residual="none", feedforward=FeedForward(Affine(np.ones((1, 4)), -bends), ReLU(), outer))
    return Tabulated(tokens, (head,), np.zeros(1), wiring, ReadOut(np.ones(1), np.zeros(())))


def junta_of(formula):
    """A Boolean function as a junta."""
    function = read_function(formula) if isinstance(formula, str) else formula
    return Junta(function.positions, 2, function.table)


def families(positions, seed=0):
    """One member of each family on these positions."""
    rng = np.random.default_rng(seed)
    made = {"and": conjunction, "or": disjunction, "majority": majority, "parity": parity}
    return {name: make(positions) for name, make in made.items()} | {"random": random_junta(positions, rng)}


def random_symbol_junta(positions, symbols, seed=0):
    """A table over any alphabet in which every position matters."""
    rng = np.random.default_rng(seed)
    while True:
        table = rng.integers(0, 2, symbols ** len(positions)).astype(bool)
        cube = table.reshape((symbols,) * len(positions))
        if all((cube != np.roll(cube, 1, axis)).any() for axis in range(len(positions))):
            return Junta(positions, symbols, table)


def every_sequence(tokens, symbols=2):
    """Every input of a short context."""
    return (np.arange(symbols**tokens)[:, None] // symbols ** np.arange(tokens)) % symbols
