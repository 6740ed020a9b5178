"""One context of a latent model, token by token: the exact posterior, and what each kind of attention answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.latent.inference import Problem, Settings, make_attentions, require_problem
from keyhole.latent.models import find_model

LONGEST = 512  # tokens that are followed one by one


@dataclass(frozen=True)
class Step:
    """The posterior and the answers after so many tokens, at the first query."""

    tokens: int
    token: tuple[float, ...]  # the last one drawn
    posterior_mean: tuple[float, ...]
    answers: dict[str, tuple[float, ...]]  # of each kind of attention
    gaps: dict[str, float]  # squared distances from the posterior mean, over all queries
    posterior: tuple[float, ...] | None  # of a latent with finitely many values


@dataclass(frozen=True)
class Followed:
    """A context as it grows."""

    model: str
    seed: int
    truth: tuple[float, ...]  # what an endless context would tell, at the first query
    steps: tuple[Step, ...]


def follow(
    model: str | Problem,
    length: int,
    *,
    attention: Sequence[str] = (),
    settings: Settings = Settings(),  # noqa: B008  (a frozen value)
    seed: int = 0,
) -> Followed:
    """Draw one context of a latent model and follow it: the posterior and every attention after each token.

    The model is the name of a registered one, or any `keyhole.latent.Problem`.

    >>> last = follow("gaussian", 4).steps[-1]
    >>> last.gaps["sink"] < 1e-18 < last.gaps["softmax"]
    True
    """
    if not 1 <= length <= LONGEST:
        raise ArgumentError(f"A context of {length} tokens was to be followed; use 1 to {LONGEST}.")
    if seed < 0:
        raise ArgumentError(f"A seed is an integer from 0; got {seed}.")
    named = model if isinstance(model, str) else type(model).__name__
    problem = require_problem(named, find_model(model) if isinstance(model, str) else model)
    kinds = tuple(attention) or problem.attentions
    made = make_attentions(kinds, problem, settings, named)
    context = problem.draw_context(length, np.random.default_rng([seed, 0]))
    steps = []
    for tokens in range(1, length + 1):
        part = context.first(tokens)
        mean = np.asarray(problem.solve(part).mean)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            answers = {kind.name: np.asarray(kind.answer(part)) for kind in made}
        finite = problem.prototypes
        steps.append(
            Step(
                tokens=tokens,
                token=_numbers(part.tokens[-1]),
                posterior_mean=_numbers(mean[0]),
                answers={name: _numbers(answer[0]) for name, answer in answers.items()},
                gaps={name: float(np.square(answer - mean).sum(axis=1).mean()) for name, answer in answers.items()},
                posterior=None if finite is None else _numbers(finite.weigh(np.asarray(part.tokens)[None])[0]),
            )
        )
    return Followed(named, seed, _numbers(np.asarray(context.truth)[0]), tuple(steps))


def _numbers(array: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in np.ravel(array))
