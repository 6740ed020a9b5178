"""Does the posterior of a latent keep all that a sequence says, and no more, and how fast does it contract?"""

from functools import partial
from math import log
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.latent.definetti import contraction_rate, cumulative_regret, martingale_drift, regret_ceiling
from keyhole.apps.ledger.latent.representations import Representation, compare_representations, determines
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, Figure, line_figure
from keyhole.latent.inference import prototype_attention
from keyhole.latent.models import FiniteModel, Polya
from keyhole.papers import ZHANG_2022

SUFFICIENT = Claim(
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


@partial(Experiment, SUFFICIENT)
def sufficiency(scale: Scale, seed: int) -> Outcome:
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


MINIMAL = Claim(
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


@partial(Experiment, MINIMAL)
def minimality(scale: Scale, seed: int) -> Outcome:
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


CONTRACTION = Claim(
    id="posterior-contraction",
    title="Posteriors contract at the Chernoff rate, and their regret never exceeds log of the number of latents",
    statement=(
        "With finitely many latents the expected log loss of the posterior falls exponentially in T, at the Chernoff information and not at "
        "the larger Kullback–Leibler divergence. Predicting by the posterior loses at most log m to the best latent, on every sequence."
    ),
    formula=r"\mathbb E[-\log\pi_X(z)]=e^{-CT+o(T)},\quad C=\max_s-\log\sum_v A_{v1}^sA_{v2}^{1-s};\qquad \mathrm{regret}\le\log m",
    kind="inequality",
    source="textbook, in the spirit of Zhang et al. (2022), whose claim (b) speaks of an error falling in the input size",
    prediction=(
        "Two coins of 0.6 and 0.4: C = 0.0204110. What is lost is lost at near ties, whose chance has a factor 1/√T, so between T and 2T the "
        "local rate is C + (1 − b/T) log 2/(2T), b some tens: ties count as near within about ten letters. So the rates fall to C from above, "
        "and at T = 2560 the excess is within 5 % of log 2/(2T). No regret above log 8 among eight latents."
    ),
    could_fail="Local rates that rise, pass below C or miss the excess; one sequence whose regret exceeds log 8.",
    papers=(ZHANG_2022,),
)

COINS = FiniteModel(np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([0.5, 0.5]))
ROUNDING = 1e-10  # of a sum of 400 logarithms


@partial(Experiment, CONTRACTION)
def contraction(scale: Scale, seed: int) -> Outcome:
    """Exact log loss at doubling T, and the regret of every sequence drawn from eight random latents, or from none."""
    lengths = [20 * 2**step for step in range(9 if scale == "quick" else 10)]
    losses = [COINS.bayes_risk(T) for T in lengths]
    rates = [log(a / b) / T for a, b, T in zip(losses[:-1], losses[1:], lengths[:-1], strict=True)]
    chernoff = contraction_rate(COINS)
    excess = (rates[-1] - chernoff) / (log(2) / (2 * lengths[-2]))
    rng = np.random.default_rng(seed)
    eight = FiniteModel(rng.dirichlet(np.ones(5), size=8).T, np.full(8, 1 / 8))
    own = cumulative_regret(eight, eight.sample(200, 400, rng).tokens)
    foreign = cumulative_regret(eight, rng.integers(5, size=(200, 400)))
    worst = max(float(own.max()), float(foreign.max())) - regret_ceiling(eight)
    falling = all(a > b for a, b in zip(rates, [*rates[1:], chernoff], strict=True))
    holds = falling and abs(excess - 1) <= 0.05 and worst <= ROUNDING
    rows: list[dict[str, Any]] = [
        {"T": T, "rate": rate, "curve": "local rate of the log loss"} for T, rate in zip(lengths, rates, strict=False)
    ] + [{"T": T, "rate": chernoff, "curve": "Chernoff information"} for T in lengths[:-1]]
    regrets = tuple(
        {"T": T, "regret": float(values[:, T - 1].mean()), "sequences": name}
        for name, values in (("of the model", own), ("of uniform letters", foreign))
        for T in (1, 3, 10, 30, 100, 400)
    )
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=(
            f"Local rates {', '.join(f'{rate:.6f}' for rate in rates[:3])}, … {rates[-1]:.6f} down to C = {chernoff:.7f}; the last exceeds it by {excess:.3f} of "
            f"log 2/(2T). Mean regret of eight latents after 400 tokens {own[:, -1].mean():.3f}; largest anywhere {worst + log(8):.4f}, log 8 = {log(8):.4f}."
        ),
        numbers={
            "Chernoff information": chernoff,
            "last local rate": rates[-1],
            "excess in units of log 2/(2T)": excess,
            "largest regret less log 8": worst,
        },
        interval="None: the log loss is summed over all counts; the regret bound holds on every sequence.",
        figures=(
            line_figure(
                "Local rate of contraction",
                rows,
                Axis("T", "tokens T", "log"),
                Axis("rate", "nats per token"),
                Axis("curve", "curve", "category"),
                subtitle="log loss of the posterior between T and 2T tokens, two coins of 0.6 and 0.4",
            ),
            line_figure(
                "Cumulative regret of eight latents",
                regrets,
                Axis("T", "tokens T", "log"),
                Axis("regret", "nats"),
                Axis("sequences", "sequences", "category"),
                subtitle="mean over 200 sequences, against the best latent in hindsight; log 8 is the ceiling",
            ),
        ),
    )
