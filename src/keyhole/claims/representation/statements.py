"""Claims about what one head represents, and with which norms: stated before anything is measured, and where each is measured."""

from keyhole.claims.finding import Claim, Experiment, NamedFunction
from keyhole.papers import EDELMAN_2022

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        Claim(
            id="joined",
            title="Representation and generalization joined: 2^O(s) log T samples suffice",
            statement=(
                "The class of one-layer heads with P_∞ ≤ P contains every s-sparse function with margin 1, and generalizes from "
                "O(P² log T / ε²) samples under every law of the bits. The information floor has the same growth in T."
            ),
            formula=r"m\;\ge\;\frac{\left(4P\sqrt{2\ln(2T+2)}+\sqrt{\ln(1/\delta)/2}\right)^2}{\varepsilon^2},\quad P=\frac{2^s\max(1,s-1)}{1-\gamma}",
            kind="inequality",
            source="keyhole, with proof (Corollary J); about minimisers of the ramp loss, not about gradient descent",
            prediction=(
                "m/ln(2T+2) falls to a constant, so that from T = 10² to 10⁸ it changes by less than 1 %. For s = 3, ε = .1, δ = .01, γ = .01 and "
                "T = 100, 1000, 10000 Theorem T, evaluated at m samples, guarantees ε, and at one sample less it does not. Four functions, compiled "
                "at T = 1000, lie in the class and have margin 1 on all inputs."
            ),
            could_fail="Growth faster than ln T, a formula that is not Theorem T's, or a compiled function outside the class or without its margin.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.claims.representation.joined"),
    ),
    Experiment(
        Claim(
            id="softmax-smoothness",
            title="Softmax is smooth from ℓ∞ to ℓ1, with a constant free of T",
            statement=(
                "However many scores there are, moving each by at most Δ moves the attention weights by at most 2 tanh(Δ/2) in "
                "ℓ1. This is why capacity grows only with log T."
            ),
            formula=r"\|\mathrm{softmax}(u)-\mathrm{softmax}(u')\|_1\le 2\tanh\left(\tfrac{1}{2}\|u-u'\|_\infty\right)",
            kind="inequality",
            source="keyhole, with proof; the smoothness is the key fact of Edelman et al. (2022), whose constant is recalled as 2",
            prediction="The ratio of move to bound never exceeds 1, at any T, and is 1 for two opposite scores.",
            could_fail="One pair of score vectors whose ratio exceeds 1 by more than rounding, or a best ratio that stays below 1.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.claims.representation.softmax_smoothness"),
    ),
    Experiment(
        Claim(
            id="normaliser-constants",
            title="Softmax keeps its constant as T grows; sparsemax, entmax and sigmoid do not",
            statement=(
                "The ℓ∞→ℓ1 constant is 1 for softmax at every T. It grows like T for sparsemax, like √T for entmax-1.5, like T/4 "
                "for sigmoid gates and like T for linear attention, so the log T argument is not theirs."
            ),
            formula=r"\sup_{u\ne u'}\frac{\|N(u)-N(u')\|_1}{\|u-u'\|_\infty}\in\left\{1,\;T,\;\sqrt{T},\;\tfrac{T}{4},\;T\right\}",
            kind="inequality",
            source="keyhole, with proof (even T)",
            prediction="Slopes of the constant against T on log axes: softmax 0, sparsemax 1, entmax-1.5 ½, sigmoid 1, linear 1.",
            could_fail="A stretch above the stated constant, or a slope off by more than 0.02.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.claims.representation.normaliser_constants"),
    ),
    Experiment(
        Claim(
            id="sharpness",
            title="Sharp attention buys norms free of T, not exactness",
            statement=(
                "A 3-way AND is represented exactly at every attention mass, uniform attention included; what large logits buy is "
                "a read-out that does not grow with T. At fixed output norms a logit range of log T − O(1) is necessary."
            ),
            formula=r"2B\;\ge\;\log\frac{\mu T}{4\,\Lambda_{\mathrm{out}}V}",
            kind="identity",
            source="keyhole, with proof (Construction A; the logit-range floor)",
            prediction=(
                "Proved error below 10⁻⁹ at every mass and every T; with uniform attention the read-out is T + 1; the logit range "
                "used always exceeds the necessary one."
            ),
            could_fail="A mass at which the proof's error exceeds 10⁻⁹, or a logit range below the floor.",
        ),
        NamedFunction("keyhole.claims.representation.sharpness"),
    ),
    Experiment(
        Claim(
            id="representation",
            title="Every s-sparse function has exact weights: norms 2^O(s), symmetric ones poly(s)",
            statement=(
                "One head represents any function of s of T bits exactly. For a table the path norm P_∞ is 2^s max(1, s−1)/(1−γ), "
                "for a symmetric function at most 4s²/(1−γ); neither grows with T."
            ),
            formula=r"P_\infty=\frac{2^s\max(1,s-1)}{1-\gamma},\qquad P_\infty\le\frac{4s^2}{1-\gamma}\ \text{(symmetric)}",
            kind="identity",
            source="Exactness with norms 2^O(s) and poly(s): Edelman et al. (2022). These constants: keyhole's own, with proof",
            prediction="Every compiled function is proved exact (error ≤ 10⁻⁹) on all 2^T inputs, with exactly these path norms.",
            could_fail="A function whose proof leaves an error above 10⁻⁹, or a path norm off the formula.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.claims.representation.constructions"),
    ),
)
