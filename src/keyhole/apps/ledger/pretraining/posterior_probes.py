"""Is the exact posterior in the trained network, layer by layer, more than in the untrained one?"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.pretraining.keeping_runs import make_runs, seeds
from keyhole.apps.ledger.pretraining.trained_networks import RUNS, specs_of
from keyhole.apps.ledger.verdict import verdict_of
from keyhole.figure import Axis, line_figure
from keyhole.papers import ZHANG_2022

CLAIM = Claim(
    id="posterior-probes",
    title="The exact posterior can be read out of the last layer of the trained encoder, and somewhat less of it out of the untrained one",
    statement=(
        "The latent posterior is the sufficient and minimal representation. A linear probe of the encoder's state at [CLS] comes near the exact posterior on held-out sequences of mixed lengths after training. "
        "The untrained network passes on the tokens' mean and little of their number, so that it holds less; a probe fitted to shuffled targets holds nothing."
    ),
    formula=r"\mathbb E\,\mathrm{KL}(\pi_X\,\|\,\mathrm{softmax}(Wh_X+b))",
    kind="measurement",
    source="keyhole, in the spirit of claim (a) of Zhang et al. (2022)",
    prediction=(
        "At the last layer, in every run: held-out KL, three standard errors added, at most 0.02 nats and below half of the untrained network's; probes of shuffled targets lose at least 0.9 times what knowing nothing loses."
    ),
    could_fail="A trained network from which the posterior cannot be read better than that, or a control that reads something.",
    papers=(ZHANG_2022,),
)

STAGES = ("untrained", "step1", "trained")
NAMES = {"untrained": "at the start", "step1": "half way", "trained": "trained"}
NEAR = 0.02  # nats
CONTROL = 0.9  # of what knowing nothing loses, that a probe of shuffled targets must lose


def measure(scale: Scale, seed: int) -> Outcome:
    """Read the probes of the encoders that `trained-encoder` trains."""
    made = make_runs(specs_of("finite", "encoder", seeds(seed, RUNS[scale])))
    return conclude([result.numbers for result in made])


def conclude(runs: Sequence[Mapping[str, float]]) -> Outcome:
    """The verdict: at the last layer every trained probe is near, and below half of its untrained network's.

    One run that is not, by three standard errors, is enough to fail.
    """
    layers = sorted(int(found[1]) for name in runs[0] if (found := re.fullmatch(r"trained_probe(\d+)", name)))
    last = layers[-1]
    low = [run[f"trained_probe{last}"] - 3 * run[f"trained_probe{last}_error"] for run in runs]
    high = [run[f"trained_probe{last}"] + 3 * run[f"trained_probe{last}_error"] for run in runs]
    untrained = [run[f"untrained_probe{last}"] for run in runs]
    shuffled = [(f"{stage}_shuffled{layer}", f"{stage}_ignorant") for stage in STAGES for layer in layers]
    control = float(np.min([run[probe] / run[ignorant] for run in runs for probe, ignorant in shuffled]))
    holds = (
        max(high) <= NEAR
        and all(end < before / 2 for end, before in zip(high, untrained, strict=True))
        and control >= CONTROL
    )
    fails = (
        max(low) > NEAR
        or any(end > before / 2 for end, before in zip(low, untrained, strict=True))
        or control < CONTROL
    )

    def mean(name: str) -> float:
        return float(np.mean([run[name] for run in runs]))

    probes = {f"layer {layer}": f"probe{layer}" for layer in layers}
    stages = {stage: f"{place}: {NAMES[stage]}" for place, stage in enumerate(STAGES, 1)}
    rows: list[dict[str, Any]] = [
        {"stage": name, "divergence": mean(f"{stage}_{probe}"), "layer": layer}
        for stage, name in stages.items()
        for layer, probe in probes.items()
    ]
    rows += [
        {"stage": name, "divergence": mean(f"{stage}_shuffled{last}"), "layer": "shuffled targets"}
        for stage, name in stages.items()
    ]
    spelled = "; ".join(
        f"{layer} " + ", ".join(f"{NAMES[stage]} {mean(f'{stage}_{probe}'):.4f}" for stage in STAGES)
        for layer, probe in probes.items()
    )
    return Outcome(
        verdict=verdict_of(holds=holds, fails=fails),
        measurement=(
            f"In the last layer a linear probe loses {mean(f'trained_probe{last}'):.4f} nats once trained and "
            f"{np.mean(untrained):.4f} before, of {mean('trained_ignorant'):.4f} that knowing nothing loses: the untrained "
            f"encoder gives {1 - np.mean([run[f'untrained_probe{last}'] / run['untrained_ignorant'] for run in runs]):.1%} of it already.\n"
            f"Held-out KL(exact posterior ‖ linear probe) in nats, mean of {len(runs)} runs: {spelled}. Knowing nothing loses "
            f"{mean('trained_ignorant'):.4f}; shuffled targets at least {control:.2f} times that."
        ),
        numbers={
            "divergence, trained": mean(f"trained_probe{last}"),
            "divergence, untrained": float(np.mean(untrained)),
            "least share of ignorance, shuffled": control,
        },
        interval="Each probe: three standard errors over 600 held-out sequences of mixed lengths.",
        figures=(
            line_figure(
                "The exact posterior, read out of the encoder",
                rows,
                Axis("stage", "stage of training", "category"),
                Axis("divergence", "held-out KL, nats", "log"),
                Axis("layer", "", "category"),
                subtitle="linear probes at [CLS]; sequences of 2 to 32 tokens",
            ),
        ),
        caveats=(
            "A probe that reads the posterior shows that it is there; one that does not may be too poor. An untrained network passes on much of the counts.",
        ),
    )


EXPERIMENTS = (Experiment(CLAIM, measure),)
