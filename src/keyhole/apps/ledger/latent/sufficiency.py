"""Does the posterior keep all that a sequence says of its latent?"""

from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, Figure
from keyhole.latent.exchangeability import compare_representations, martingale_drift
from keyhole.latent.inference import prototype_attention
from keyhole.latent.models import FiniteModel, Polya
from keyhole.papers import ZHANG_2022

CLAIM = Claim(
    id="sufficiency",
    title="The latent posterior is a sufficient representation of a sequence",
    statement=(
        "When tokens are independent given a latent z, the posterior of z keeps all that the sequence says of it, and so of every "
        "label that depends on z. For finitely many latents it is one softmax: the pooled log-likelihoods plus the log prior."
    ),
    formula=r"\pi_X=\mathrm{softmax}_z\left(\log p_z+\sum_t\log A_{x_t,z}\right),\qquad I(z;\pi_X)=I(z;X)",
    kind="identity",
    source="claim (a) of Zhang et al. (2022, abstract); proof keyhole's",
    prediction=(
        "I(z; posterior) = I(z; sequence) within 1e-9 on every model, by enumeration; a context cut by one token keeps less. The softmax "
        "form and the martingale identity hold to 1e-10."
    ),
    could_fail="A model whose posterior keeps less than its sequences, a drift above 1e-10, or a cut context that keeps as much.",
    papers=(ZHANG_2022,),
)

TOLERANCE = 1e-9  # sums of up to 10⁴ rounded terms
IDENTITY = 1e-10


def measure(scale: Scale, seed: int) -> Outcome:
    """Every sequence of random models enumerated: informations kept, identities met."""
    rng = np.random.default_rng(seed)
    lost, drift, apart, cut = 0.0, 0.0, 0.0, np.inf
    rows: list[dict[str, Any]] = []
    for number in range(20 if scale == "quick" else 200):
        model = random_model(rng)
        length = int(rng.integers(2, 6))
        held = compare_representations(model, length, {"all but one token": lambda x: x[:, :-1]})
        everything = held["sequence"].about_latent
        lost = max(lost, *(everything - held[name].about_latent for name in ("counts", "posterior")))
        cut = min(cut, everything - held["all but one token"].about_latent)
        tokens = model.sample(50, length, rng).tokens
        drift = max(drift, martingale_drift(model, tokens), martingale_drift(Polya(rng.uniform(0.2, 3, 3)), tokens % 3))
        apart = max(
            apart,
            float(np.abs(model.posterior(tokens) - prototype_attention(tokens, model.emission, model.prior)).max()),
        )
        if number < 8:
            rows += [
                {"model": f"model {number + 1}", "information": held[name].about_latent, "representation": name}
                for name in ("sequence", "posterior", "all but one token")
            ]
    holds = lost <= TOLERANCE and cut > TOLERANCE and max(drift, apart) <= IDENTITY
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=(
            f"Information lost by the posterior at most {at_most(lost, 2)} nats; by dropping one token at least {at_least(cut, 3)}. Softmax as Bayes within "
            f"{at_most(apart, 2)}; martingale drift at most {at_most(drift, 2)}."
        ),
        numbers={
            "lost by the posterior": lost,
            "lost with one token": cut,
            "martingale drift": drift,
            "softmax apart from Bayes": apart,
        },
        interval="None: enumeration of every sequence; what is left is rounding.",
        figures=(
            Figure(
                title="What representations keep of the latent",
                subtitle="I(z; R) in nats, by enumeration, for eight random models",
                kind="points",
                rows=tuple(rows),
                x=Axis("model", "model", "category"),
                y=Axis("information", "I(z; R)"),
                colour=Axis("representation", "representation", "category"),
            ),
        ),
        caveats=(
            "Given the latent, the label must not depend on the sequence: that is the assumption of the theorem.",
        ),
    )


def random_model(rng: np.random.Generator) -> FiniteModel:
    """Two to four latents over two to four letters, every letter possible under each."""
    letters, latents = (int(size) for size in rng.integers(2, 5, size=2))
    return FiniteModel(rng.dirichlet(np.full(letters, 2.0), size=latents).T, rng.dirichlet(np.full(latents, 2.0)))


EXPERIMENTS = (Experiment(CLAIM, measure),)
