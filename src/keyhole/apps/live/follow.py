"""One context of a latent model, token by token: the exact posterior, and what each kind of attention answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure, Row
from keyhole.latent.inference import Problem, Settings, make_attentions, require_problem
from keyhole.latent.models import find_model
from keyhole.show.answer import Show

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


@dataclass(frozen=True, repr=False)
class Followed(Result):
    """A context as it grows."""

    schema: ClassVar[str] = "follow/1"
    has_figure: ClassVar[bool] = True

    model: str
    seed: int
    truth: tuple[float, ...]  # what an endless context would tell, at the first query
    steps: tuple[Step, ...]

    def lines(self, show: Show) -> None:
        """Say how far each attention is from the posterior mean at the end; then a row per length."""
        last, names = self.steps[-1], tuple(self.steps[0].answers)
        gaps = ", ".join(f"{name} {gap:.3g}" for name, gap in last.gaps.items())
        show.line(f"{self.model} after {last.tokens} tokens; squared distance from the posterior mean: {gaps}")
        if show.verbose:
            show.table(
                dict.fromkeys(("T", "posterior mean", *names), ">"),
                [
                    (
                        str(step.tokens),
                        *(f"{answer[0]:.4f}" for answer in (step.posterior_mean, *step.answers.values())),
                    )
                    for step in self.steps
                ],
            )

    def figure(self) -> Figure:
        """The first coordinate of the posterior mean and of every answer against the length."""
        rows: list[Row] = [
            {"T": step.tokens, "value": value, "who": who}
            for step in self.steps
            for who, value in [
                ("posterior mean", step.posterior_mean[0]),
                *((name, answer[0]) for name, answer in step.answers.items()),
            ]
        ]
        return Figure(
            title=f"A context of the model {self.model}, token by token",
            subtitle=f"first coordinate; the latent's own value is {self.truth[0]:.4f}",
            kind="lines",
            rows=tuple(rows),
            x=Axis("T", "tokens seen"),
            y=Axis("value", "answer"),
            colour=Axis("who", "", "category"),
        )


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
            answers = {each.name: np.asarray(each.answer(part)) for each in made}
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
