"""Claims about attention as inference of a latent variable: stated before anything is measured, and where each is measured."""

from keyhole.apps.ledger.finding import Claim, Experiment, NamedFunction
from keyhole.papers import DIACONIS_1980, ZHANG_2022, ZHANG_2023

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        Claim(
            id="exchangeability",
            title="Part of a long exchangeable sequence is near a latent model; a whole positioned sentence is not",
            statement=(
                "Exchangeable tokens that could go on for ever are independent given a latent variable. Of n exchangeable letters, k are "
                "within c·k/n of that. Positioned tokens are exchangeable in random order, yet k of T are at distance at least "
                "1 − T(T−1)…(T−k+1)/T^k from every such law: O(k²/T) and no better. Over a whole sentence the latent model is an assumption."
            ),
            formula=r"\mathrm{TV}\le\min\left(\tfrac{ck}{n},\tfrac{k(k-1)}{2n}\right),\qquad \mathrm{TV}(k\text{ positions})\ge 1-\frac{T(T-1)\cdots(T-k+1)}{T^k}",
            kind="inequality",
            source=(
                "claim (a) of Zhang et al. (2022, abstract) derives a latent variable from exchangeable positioned tokens; the finite form follows Diaconis and Freedman (1980), "
                "constants recalled; the statement on positions is keyhole's, with proof"
            ),
            prediction=(
                "Urns without replacement stay below the bound and their distance falls with slope −1 in n at fixed k. For positions, counting "
                "gives the floor exactly; it passes 0.99 for whole sentences of 8 tokens or more; the least eigenvalue of pairs is −1/(T(T−1))."
            ),
            could_fail="An urn above the bound, a slope off −1 by more than 0.02, a count that is not the floor, or a non-negative eigenvalue.",
            papers=(ZHANG_2022, DIACONIS_1980),
        ),
        NamedFunction("keyhole.apps.ledger.latent.exchangeability"),
    ),
    Experiment(
        Claim(
            id="exchangeability-tests",
            title="Tests of exchangeability keep their level and see the strong contrasts",
            statement=(
                "Reordering tokens within sequences gives a test of exchangeability that is exact for every exchangeable law. No latent "
                "variable lets tokens of two kinds divide evenly too often, nor T of V letters be all different too often; splitting the sample and counting such "
                "sequences gives a test of a latent variable that keeps its level for every mixture and any number of sequences, and sees draws without "
                "replacement, which no reordering can."
            ),
            formula=r"P(p\le\alpha)\le\alpha,\qquad P(a\le K\le b)\le\max_p P(a\le\mathrm{Bin}(T,p)\le b),\qquad P(\text{all different})\le (V)_T/V^T",
            kind="measurement",
            source="keyhole; permutation tests are textbook",
            prediction=(
                "At nominal 5 %, 99 permutations: rejections among 1,000 null data sets at most 73, the one-sided 99.9 % binomial limit, for each of "
                "eight nulls; among them a latent whose rare value (1 in 20, or 1 in 50) alone has spread, one that moves a direction by 0.24 and "
                "leaves the others at the boundary, and 100 equally likely letters. Power at least 0.95 against a chain that stays with chance 0.4 (20 sequences of 12 letters, 4 kinds), and against an urn "
                "of 4 copies of each of 4 letters (400 sequences of 8); against 8 of 100 positions without replacement (400 sequences); and against a first place "
                "of signs among standard normals (200 sequences of 12)."
            ),
            could_fail="One null rejected more than 73 times in 1,000, or a power below 0.95.",
        ),
        NamedFunction("keyhole.apps.ledger.latent.exchangeability_tests"),
    ),
    Experiment(
        Claim(
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
        ),
        NamedFunction("keyhole.apps.ledger.latent.sufficiency"),
    ),
    Experiment(
        Claim(
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
        ),
        NamedFunction("keyhole.apps.ledger.latent.minimality"),
    ),
    Experiment(
        Claim(
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
        ),
        NamedFunction("keyhole.apps.ledger.latent.posterior_contraction"),
    ),
    Experiment(
        Claim(
            id="attention-conditional-mean",
            title="Conditional-mean attention is the exact Bayesian answer; softmax attention is a low-pass filter of it",
            statement=(
                "With ridge σ²/τ², conditional-mean-embedding attention is the posterior mean of v = zφ(k) + noise, and its variance formula the posterior variance. "
                "Softmax attention at a fixed temperature γ tends to E[v e^(qᵀk/γ)]/E[e^(qᵀk/γ)]: on the sphere it multiplies the degree-ℓ part of E[v | k] by "
                "I_{d/2−1+ℓ}(1/γ)/I_{d/2−1}(1/γ). The two limits are equal up to a constant only when E[v | k] has a single harmonic degree; otherwise an error stays."
            ),
            formula=r"V^\top(\mathfrak K+\lambda I)^{-1}\mathfrak K(K,q)=E[v\mid q,K,V],\qquad f_\ell\mapsto\frac{I_{d/2-1+\ell}(1/\gamma)}{I_{d/2-1}(1/\gamma)}\,f_\ell",
            kind="identity",
            source="keyhole, with proof; that attention approximates the conditional mean of the value given the key is claimed by Zhang et al. (2022)",
            prediction=(
                "Mean and variance of the explicit posterior to 1e-10. At γ = ½ on the sphere in space multipliers .537315 and .194028 for degrees 1 and 2, and the floor of a sum of bumps, within 1 %. "
                "A function of degree 1 is recovered up to one constant to 1e-3 of its spread; of degrees 1 and 2 with equal energies the share left by the best constant is 0.181."
            ),
            could_fail="An identity off by more than 1e-10, a multiplier or floor off by more than 1 %, or shares off by more than 0.01.",
            papers=(ZHANG_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.latent.attention_conditional_mean"),
    ),
    Experiment(
        Claim(
            id="inference-rates",
            title="Attention's error to the conditional mean falls with the length as its exact expectation says",
            statement=(
                "For one fixed function on the sphere and common draws, the squared error of conditional-mean and softmax attention is, given the keys, an exact sum of bias and variance. "
                "Conditional-mean attention with a constant ridge falls nearly like 1/T; softmax with γ_T = ½T^(−1/3) near T^(−2/3); softmax at fixed γ stalls at its floor; "
                "the ridge T^(3/4) of the proof is ruled by the bias Σ_ℓ (ε/(μ_ℓ+ε))²E‖f_ℓ‖², ε = T^(−1/4), whose exponent −½ is out of reach. Without keys, the mean of a Gaussian location's tokens is off the posterior mean by (λ/(T+λ))²(τ²+σ²/T)."
            ),
            formula=r"E\|\hat f(q)-f(q)\|^2=\|w^\top f(K)-f(q)\|^2+k\sigma^2\|w\|^2",
            kind="identity",
            source="keyhole, with proof; an error decreasing in the input size is claimed by Zhang et al. (2022). The ridge T^(3/4) follows Zhang et al. (2023), from memory",
            prediction=(
                "Measured over exact errors average 1, and every fitted slope's 99.9 % interval holds the exact slope. At the largest length the proof ridge is within 10 % of the bias formula "
                "and the fixed temperature within 25 % of its floor. Exact slopes: constant ridge below −0.75, γ_T between −0.85 and −0.55, fixed γ and the proof ridge above −0.3."
            ),
            could_fail="A ratio or slope outside its 99.9 % interval, a formula missed by more than stated, or an exact slope outside its range.",
            papers=(ZHANG_2022, ZHANG_2023),
        ),
        NamedFunction("keyhole.apps.ledger.latent.inference_rates"),
    ),
)
