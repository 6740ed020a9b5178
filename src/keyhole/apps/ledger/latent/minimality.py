"""Is the posterior the least of the sufficient representations?"""

from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.latent.sufficiency import random_model
from keyhole.decimals import at_most
from keyhole.figure import Axis, Figure
from keyhole.latent.exchangeability import Representation, compare_representations, determines
from keyhole.latent.models import FiniteModel
from keyhole.papers import ZHANG_2022

CLAIM = Claim(
    id="minimality",
    title="The latent posterior is the minimal sufficient representation",
    statement=(
        "Every representation that serves all labels depending on the latent determines the posterior, and so has at least its entropy. "
        "Minimality is relative to all such labels: for one fixed label less may do."
    ),
    formula=r"I(z;R)=I(z;X)\;\Rightarrow\;\pi_X=g(R),\quad H(\pi_X)\le H(R)",
    kind="inequality",
    source="claim (a) of Zhang et al. (2022, abstract); proof keyhole's",
    prediction=(
        "With A = [[.5,.2],[.3,.3],[.2,.5]], a uniform prior and three tokens: 27 sequences, 10 counts, 7 posteriors, of entropies 3.264963, "
        "2.217362, 1.861196. On random models no sufficient representation has less entropy than the posterior, and each determines it."
    ),
    could_fail="Another number in the example, or a sufficient representation that is smaller or does not determine the posterior.",
    papers=(ZHANG_2022,),
)

EXAMPLE = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
STATED = {"sequence": (27, 3.264963), "counts": (10, 2.217362), "posterior": (7, 1.861196)}
DIGITS = 5e-7  # of the numbers stated
TOLERANCE = 1e-9  # sums of up to 10⁴ rounded terms


def measure(scale: Scale, seed: int) -> Outcome:
    """The example to its digits, then random models against a family of representations."""
    held = compare_representations(EXAMPLE, 3)
    off = max(abs(held[name].entropy - entropy) for name, (_, entropy) in STATED.items())
    classes = all(held[name].classes == number for name, (number, _) in STATED.items())
    rng = np.random.default_rng(seed)
    smaller, undetermined, sufficient = 0.0, 0, 0
    for _ in range(12 if scale == "quick" else 120):
        model, length = random_model(rng), int(rng.integers(2, 5))
        others = representations(model, rng)
        representation = compare_representations(model, length, others)
        for name, represent in others.items():
            if representation["sequence"].about_latent - representation[name].about_latent > TOLERANCE:
                continue
            sufficient += 1
            smaller = max(smaller, representation["posterior"].entropy - representation[name].entropy)
            undetermined += not determines(model, length, represent, model.posterior)
    holds = off <= DIGITS and classes and smaller <= TOLERANCE and undetermined == 0 and sufficient > 0
    rows: list[dict[str, Any]] = [
        {"representation": f"{name} ({representation.classes})", "entropy": representation.entropy}
        for name, representation in held.items()
    ]
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=(
            f"Example: {', '.join(f'{name} {representation.classes} classes, H = {representation.entropy:.6f}' for name, representation in held.items())}. "
            f"Of {sufficient} sufficient representations of random models none is smaller than the posterior by more than {at_most(max(smaller, 0.0), 2)} "
            f"nats; {undetermined} fail to determine it."
        ),
        numbers={f"entropy of the {name}": representation.entropy for name, representation in held.items()}
        | {"sufficient representations": float(sufficient), "not determining the posterior": float(undetermined)},
        interval="None: enumeration of every sequence; what is left is rounding.",
        figures=(
            Figure(
                title="Entropy of sufficient representations",
                subtitle="in nats, three tokens of the example; in brackets how many values each takes",
                kind="bars",
                rows=tuple(rows),
                x=Axis("representation", "representation", "category"),
                y=Axis("entropy", "H(R)"),
            ),
        ),
        caveats=(
            "Latents with the same law of tokens are taken as one; for a single fixed label fewer numbers suffice.",
        ),
    )


def representations(model: FiniteModel, rng: np.random.Generator) -> dict[str, Representation]:
    """Some that keep too much, some too little, some just enough, renamed."""
    shift = rng.permutation(model.letters)
    return {
        "sorted": lambda x: np.sort(x, axis=1),
        "posterior and first letter": lambda x: np.column_stack([model.posterior(x), x[:, 0]]),
        "log-posterior, turned": lambda x: model.log_posterior(x) - model.log_posterior(x)[:, :1],
        "first half": lambda x: x[:, : x.shape[1] // 2],
        "set of letters": lambda x: np.stack([(x == letter).any(axis=1) for letter in range(model.letters)], axis=1),
        "letters renamed": lambda x: shift[x],
    }


EXPERIMENTS = (Experiment(CLAIM, measure),)
