"""Claims about what gradient descent finds: stated before anything is measured, and where each is measured."""

from keyhole.claims.finding import Claim, Experiment, NamedFunction
from keyhole.papers import BARAK_2022, EDELMAN_2022, GROSS_2024


def conjunctions(distribution: str) -> Claim:
    """The claim for one distribution of the input bits."""
    return Claim(
        id=f"conjunctions-{distribution}",
        title=f"A trained head learns a 3-way AND on {distribution} bits from few samples, slowly growing in T",
        statement=(
            "The sample size m*(T) at which a one-layer transformer trained by gradient descent generalises in half of the runs "
            "grows at most half as fast as the context over the range measured."
        ),
        formula=r"m^{*}(T)=\min\{m:\Pr[\text{accuracy}\ge .99]\ge\tfrac12\},\qquad \frac{m^{*}(T_2)}{m^{*}(T_1)}\le\frac12\cdot\frac{T_2}{T_1}",
        kind="measurement",
        source="Following the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
        prediction=(
            "For each learner setting the threshold grows at least twice as slowly as T over the range measured (the whole interval of the "
            "ratio), and a law linear in T has an Akaike weight below 5 %. Which sublinear law leads is reported, not predicted."
        ),
        could_fail="A ratio of thresholds whose lower end exceeds half the ratio of contexts, or a linear law with 95 % of the weight.",
        papers=(EDELMAN_2022,),
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        conjunctions("uniform"),
        NamedFunction("keyhole.claims.training.conjunctions", "measure_uniform"),
    ),
    Experiment(
        conjunctions("balanced"),
        NamedFunction("keyhole.claims.training.conjunctions", "measure_balanced"),
    ),
    Experiment(
        Claim(
            id="parity-online",
            title="Sparse parity is learned suddenly, after a plateau in which Fourier weight already moves",
            statement=(
                "From fresh samples a one-layer transformer learns a 3-way parity: accuracy stays at chance, then jumps to 1. Before the jump "
                "the Fourier weight of the network on the hidden set has already left its noise level."
            ),
            formula=r"y=b_{i_1}\oplus b_{i_2}\oplus b_{i_3},\qquad \widehat{f}(\{i_1,i_2,i_3\})^2/\operatorname{Var} f",
            kind="measurement",
            source="Following Edelman et al. (2022) and, for hidden progress, Barak et al. (2022); no theorem explains the optimiser",
            prediction=(
                "With the parity preset at least 90 % of the runs at T = 15 and 20 pooled succeed within 20,000 steps. In most of them accuracy "
                "goes from .6 to .95 within half the time it took to reach .6, and the Fourier share leaves its noise for good before accuracy leaves "
                "its own, by at least a tenth of that time; both marks are √5 standard deviations of a network that knows nothing."
            ),
            could_fail="A pooled success rate whose upper end is below .9, a slow rise, or Fourier weight that moves only after the accuracy.",
            papers=(EDELMAN_2022, BARAK_2022),
        ),
        NamedFunction("keyhole.claims.training.parity"),
    ),
    Experiment(
        Claim(
            id="parity-fixed-set",
            title="From a fixed set a network memorises a parity's samples where elimination already finds the parity",
            statement=(
                "Gaussian elimination over GF(2) finds a parity from a few samples more than T. A one-layer transformer fits a set of that size "
                "without generalising, and needs many more samples to generalise. How long after fitting it generalises is reported, not claimed."
            ),
            formula=r"m^{*}_{\mathrm{SGD}}(T)\gg T+O(1)",
            kind="measurement",
            source="keyhole; the question is that of Edelman et al. (2022), the delay is known as grokking",
            prediction=(
                "At T = 15 and m = 40 elimination succeeds in at least 95 % of the runs; the network fits its set in at least 80 % of them and "
                "generalises in at most a quarter. At m = 1000 the network generalises in at least half."
            ),
            could_fail="A network that generalises at m = 40, or does not even fit; or one that fails at m = 1000.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.claims.training.grokking"),
    ),
    Experiment(
        Claim(
            id="trained-heads-settled",
            title="Trained heads can be read back, proved equal to a sparse function on all inputs, and promised an error",
            statement=(
                "From the weights of a one-layer transformer trained on a 3-way AND the function it computes is read off and proved equal to the "
                "model on all 2^T inputs; its training set alone then bounds the error, below the trivial 1/8 once m is a few hundred."
            ),
            formula=r"\forall b\in\{0,1\}^T:\ \operatorname{sign} f(b)=g(b_I),\qquad \Pr[f\ne y]\le 1-\exp\!\left(-\tfrac{\text{nats}}{m}\right)",
            kind="measurement",
            source="keyhole (extraction, verification and the Occam bound are proved; how often they succeed is measured). All-input proofs for trained attention: Gross et al. (2024)",
            prediction=(
                "At T up to 400 and m = 2 m*(T), twice the measured threshold, at least 85 % of the runs without an error on 100,000 fresh inputs are "
                "proved; every promised bound, above and below the threshold, is at least the lower end of the measured error. Longer contexts, and "
                "the share that ends proved with a promise below 1/8 at m = 300, are reported."
            ),
            could_fail="Fewer than 85 % proved beyond the interval, or a single bound below the error measured.",
            papers=(EDELMAN_2022, GROSS_2024),
        ),
        NamedFunction("keyhole.claims.training.certified_runs"),
    ),
    Experiment(
        Claim(
            id="sparse-heads",
            title="Heads that generalise look at the relevant positions",
            statement=(
                "After training on a 3-way AND the attention of the best head at [CLS] lies mostly on the three relevant positions in runs that "
                "generalise, more than in runs that do not; uniform attention would put 3/(T+1) there."
            ),
            formula=r"\max_h\ \mathbb{E}_b\sum_{t\in I}\alpha_{h,t}(b)\ \ge\ \tfrac12\ \gg\ \frac{3}{T+1}",
            kind="measurement",
            source="Following Edelman et al. (2022), who show attention of trained models concentrating on the relevant positions",
            prediction=(
                "At T = 100 and m = 30 and 300 with the default settings: in at least 90 % of the runs that generalise the best head has at least half "
                "of its attention on the three positions; in the runs that do not, the median is below that of the runs that do."
            ),
            could_fail="Generalising runs whose best head looks elsewhere in more than a tenth of the cases.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.claims.training.sparse_heads"),
    ),
)
