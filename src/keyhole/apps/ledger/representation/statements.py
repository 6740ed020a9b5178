"""Claims about what one head represents, and with which norms: stated before anything is measured, and where each is measured."""

from keyhole.apps.ledger.finding import Claim, Experiment, NamedFunction
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
        NamedFunction("keyhole.apps.ledger.representation.joined"),
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
        NamedFunction("keyhole.apps.ledger.representation.softmax_smoothness"),
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
        NamedFunction("keyhole.apps.ledger.representation.normaliser_constants"),
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
        NamedFunction("keyhole.apps.ledger.representation.sharpness"),
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
        NamedFunction("keyhole.apps.ledger.representation.constructions"),
    ),
    Experiment(
        Claim(
            id="head-degree",
            title="One head has little Fourier weight above degree D",
            statement=(
                "On uniform bits, whatever the scores and however long the context, at most 2^−D of the Fourier weight of a head "
                "with values within ±1 lies above degree D."
            ),
            formula=r"\sum_{|S|>D}\hat u(S)^2\;\le\;2^{-D}",
            kind="inequality",
            source="keyhole, with proof: a head is a mixture of decision lists, and D items of a list read D bits",
            prediction=(
                "No head, random, built or improved step by step, exceeds the bound at D = 0 … 4; at D = 0 a single bit attains it."
            ),
            could_fail="A head above the bound by more than rounding, or none within 1 % of it at D = 0.",
        ),
        NamedFunction("keyhole.apps.ledger.representation.one_head", "measure_degree"),
    ),
    Experiment(
        Claim(
            id="head-influence",
            title="One head has total influence at most 8/3",
            statement=(
                "On uniform bits, whatever the scores and however long the context, the changes of a head with values within ±1 "
                "when one bit is turned add up to at most 8/3 over all bits. Alternating decision lists come as near as you like."
            ),
            formula=r"\sum_t \mathbb{E}\,|u(b)-u(b^{\oplus t})|\;\le\;\tfrac{8}{3}",
            kind="inequality",
            source="keyhole, with proof",
            prediction="No head exceeds 8/3; the alternating list of nine or more bits comes within 1 % of it.",
            could_fail="A head above the bound by more than rounding, or an alternating list that stays 1 % below it.",
        ),
        NamedFunction("keyhole.apps.ledger.representation.one_head", "measure_influence"),
    ),
    Experiment(
        Claim(
            id="head-parity",
            title="One head hardly sees a parity",
            statement=(
                "On uniform bits, whatever the scores and however long the context, the correlation of a head with values within "
                "±1 and a parity of s bits is at most 2^−(s−1). So parities need the units after attention, or several heads."
            ),
            formula=r"|\mathbb{E}\,u\,\chi_S|\;\le\;2^{-(|S|-1)}",
            kind="inequality",
            source="keyhole, with proof",
            prediction="No head exceeds the bound at any s up to T; the conjunction of s bits comes within 1 % of it at every s.",
            could_fail="A head above the bound by more than rounding, or a conjunction that stays 1 % below it.",
        ),
        NamedFunction("keyhole.apps.ledger.representation.one_head", "measure_parity"),
    ),
)
