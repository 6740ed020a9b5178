"""Claims about what gradient descent finds: stated before anything is measured, and where each is measured."""

from keyhole.apps.ledger.finding import Claim, Experiment, NamedFunction
from keyhole.papers import BARAK_2022, EDELMAN_2022, GROSS_2024


def conjunctions(distribution: str) -> Claim:
    """The claim for one distribution of the input bits."""
    return Claim(
        id=f"conjunctions-{distribution}",
        title=f"Samples for a 3-way AND on {distribution} bits: the power law T^p nearest to them has p below ½",
        statement=(
            "Let m*(T) be the sample size at which a one-layer transformer trained by gradient descent generalises in half of the runs. Over "
            "the contexts measured the exponent p of the power law a·T^p nearest to m* is below one half."
        ),
        formula=r"m^{*}(T)=\min\{m:\Pr[\text{accuracy}\ge .99]\ge\tfrac12\},\qquad m^{*}(T)\approx a\,T^{p},\quad p<\tfrac12",
        kind="measurement",
        source="Following the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
        prediction=(
            "With the default settings the whole 90 % interval of the exponent p lies below ½. Reported and not predicted: how often it would if "
            "growth were logarithmic as fitted, and how often T^0.7 would be refuted (both simulated with the errors measured); which growth law "
            "has the most support; the protocol of a public reproduction of the experiment, over a shorter range."
        ),
        could_fail="A 90 % interval of p that lies wholly above ½.",
        papers=(EDELMAN_2022,),
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        conjunctions("uniform"),
        NamedFunction("keyhole.apps.ledger.training.conjunctions", "measure_uniform"),
    ),
    Experiment(
        conjunctions("balanced"),
        NamedFunction("keyhole.apps.ledger.training.conjunctions", "measure_balanced"),
    ),
    Experiment(
        Claim(
            id="registered-growth",
            title="A registered experiment: samples for a 3-way AND grow like log T over T = 25 to 12,800",
            statement=(
                "Let m*(T) be the sample size at which a one-layer transformer trained with the default settings generalises in half of the runs, on "
                "uniform bits. Over T = 25, 50, …, 12,800 the law a + b log T is named by a rule that was fixed, with its odds and its power, before "
                "the first run."
            ),
            formula=r"m^{*}(T)=a+b\log T,\qquad T=25,50,\dots,12800",
            kind="measurement",
            source="keyhole, after the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
            prediction=(
                "The rule for growth laws names one, at odds of 6 to 1 or more. The plan, data/registered/plan.toml, predicts that it is not log T: "
                "so this claim is predicted to fail. If growth were log T this design would name it in 89 % of data sets, and if it were T^0.3 in 72 %."
            ),
            could_fail="A law other than log T that is named once all ten contexts are finished.",
            papers=(EDELMAN_2022,),
            shipped="the rows in data/registered, made on one machine; the plan was given up at T = 800",
        ),
        NamedFunction("keyhole.apps.ledger.training.registered", "measure_first"),
    ),
    Experiment(
        Claim(
            id="registered-growth-3200",
            title="A second registered experiment: samples for a 3-way AND grow like log T over T = 10 to 3,200",
            statement=(
                "Let m*(T) be the sample size at which a one-layer transformer trained at a rate of 0.001 generalises in half of the runs, on uniform "
                "bits. Over T = 10, 20, 40, …, 1,280 and 3,200 the law a + b log T is named by a rule that was fixed, with its odds and its power, "
                "before the first run."
            ),
            formula=r"m^{*}(T)=a+b\log T,\qquad T=10,20,\dots,1280,3200",
            kind="measurement",
            source="keyhole, after the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
            prediction=(
                "The plan, data/registered-3200/plan.toml, predicts that log T is named, or leads without being named, and that neither √T nor T nor a "
                "constant is. If growth were log T this design would name it in 90 % of data sets, and if it were T^0.3 in 34 %. The first plan's rows "
                "to T = 800 and exploratory runs on other seeds were known by then."
            ),
            could_fail="A law other than log T that is named once all nine contexts are finished.",
            papers=(EDELMAN_2022,),
            shipped="the rows in data/registered-3200, made on one machine; `make registered PLAN=data/registered-3200` makes those that are missing",
        ),
        NamedFunction("keyhole.apps.ledger.training.registered", "measure_second"),
    ),
    Experiment(
        Claim(
            id="registered-growth-12800",
            title="A third registered experiment: samples for a 3-way AND grow like log T over T = 25 to 12,800",
            statement=(
                "Let m*(T) be the sample size at which a one-layer transformer trained at a rate of 0.0003 generalises in half of the runs, on uniform "
                "bits. Over T = 25, 50, …, 12,800 the law a + b log T is named by a rule that was fixed, with its odds and its power, before the "
                "first run."
            ),
            formula=r"m^{*}(T)=a+b\log T,\qquad T=25,50,\dots,12800",
            kind="measurement",
            source="keyhole, after the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
            prediction=(
                "The plan, data/registered-12800/plan.toml, predicts that log T or (log T)² leads, that neither T nor a constant is named, and that the "
                "same rule names log T for elimination, whose growth is known. If m* rose sixfold, with an error of 8.5 % a point, this design "
                "would name log T in 80 % of data sets were it true, and T^0.3 in 47 %; at smaller rises it names the truth less often. The rows of the first two plans and some eighty exploratory runs were known by then."
            ),
            could_fail="A law other than log T that is named once all ten contexts are finished.",
            papers=(EDELMAN_2022,),
            shipped="the rows in data/registered-12800, made on one machine; `make registered` makes those that are missing",
        ),
        NamedFunction("keyhole.apps.ledger.training.registered", "measure_third"),
    ),
    Experiment(
        Claim(
            id="parity-online",
            title="Gradient descent learns a sparse parity from fresh samples",
            statement="From fresh samples a one-layer transformer learns a 3-way parity of 15 or 20 bits in most runs.",
            formula=r"y=b_{i_1}\oplus b_{i_2}\oplus b_{i_3}",
            kind="measurement",
            source="Following Edelman et al. (2022); no theorem explains the optimiser",
            prediction=(
                "With the parity preset the share of runs at T = 15 and 20 pooled that succeed within 20,000 steps is above ½: the whole 95 % "
                "interval. Steps, and other contexts, are reported."
            ),
            could_fail="A success rate whose 95 % interval lies below ½.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.training.parity", "measure_learned"),
    ),
    Experiment(
        Claim(
            id="parity-sudden",
            title="Sparse parity is learned suddenly, after a plateau",
            statement="In most runs that learn a 3-way parity from fresh samples accuracy stays near chance, then jumps.",
            formula=r"t_{.95}-t_{.6}\le\tfrac12\,t_{.6}",
            kind="measurement",
            source="Following Edelman et al. (2022); no theorem explains the optimiser",
            prediction=(
                "In more than half of the runs that succeed, accuracy goes from .6 to .95 within half the time it took to reach .6: the whole "
                "95 % interval of the share."
            ),
            could_fail="A share of sudden rises whose 95 % interval lies below ½.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.training.parity", "measure_sudden"),
    ),
    Experiment(
        Claim(
            id="parity-foretold",
            title="Fourier weight on the hidden set moves before the accuracy does",
            statement=(
                "In most runs that learn a 3-way parity from fresh samples the Fourier weight of the network on the hidden set has left its noise "
                "level well before the accuracy has left its own."
            ),
            formula=r"\widehat{f}(\{i_1,i_2,i_3\})^2/\operatorname{Var} f",
            kind="measurement",
            source="keyhole; hidden progress follows Barak et al. (2022), who read other quantities",
            prediction=(
                "In more than half of the runs that succeed, the Fourier share leaves its noise for good before the accuracy leaves its own, by at "
                "least a tenth of that time: the whole 95 % interval of the share. Both marks are √5 standard deviations of a network that knows "
                "nothing."
            ),
            could_fail="A share of runs foretold whose 95 % interval lies below ½.",
            papers=(BARAK_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.training.parity", "measure_foretold"),
    ),
    Experiment(
        Claim(
            id="parity-fixed-set",
            title="From 40 samples elimination finds a parity that a trained network does not",
            statement=(
                "Gaussian elimination over GF(2) finds a parity of 15 bits from 40 samples in most runs, and a one-layer transformer in fewer than "
                "half. How many samples the network needs, and how long after fitting it generalises, is reported."
            ),
            formula=r"\Pr[\text{SGD succeeds at } m=40]<\tfrac12<\Pr[\text{elimination succeeds at } m=40]",
            kind="measurement",
            source="keyhole; the question is that of Edelman et al. (2022), the delay is known as grokking",
            prediction=(
                "At T = 15 and m = 40 the 95 % interval of the network's success rate lies below ½, and that of elimination above ½."
            ),
            could_fail="An interval of the network's success rate above ½, or one of elimination's below ½.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.training.grokking", "measure_success"),
    ),
    Experiment(
        Claim(
            id="parity-memorised",
            title="From 40 samples a network memorises a parity's samples",
            statement="A one-layer transformer fits 40 samples of a 3-way parity of 15 bits without generalising, in more than half of the runs.",
            formula=r"\Pr[\text{fits and does not generalise at } m=40]>\tfrac12",
            kind="measurement",
            source="keyhole; the question is that of Edelman et al. (2022), the delay is known as grokking",
            prediction="At T = 15 and m = 40 the 95 % interval of the share of runs that fit and do not generalise lies above ½.",
            could_fail="An interval of that share below ½.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.training.grokking", "measure_memorised"),
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
                "At T up to 400 and m = 2 m*(T), twice the measured threshold, more than half of the runs without an error on 100,000 fresh inputs "
                "are proved, by the whole 95 % interval; every promised bound, above and below the threshold, is at least the lower end of the measured error. Longer contexts, and "
                "the share that ends proved with a promise below 1/8 at m = 300, are reported."
            ),
            could_fail="A share proved whose 95 % interval lies below ½, or a single bound below the error measured.",
            papers=(EDELMAN_2022, GROSS_2024),
        ),
        NamedFunction("keyhole.apps.ledger.training.certified_runs"),
    ),
    Experiment(
        Claim(
            id="tested-models",
            title="Small trained models that pass 100,000 random tests are often wrong on some word",
            statement=(
                "Among one-layer models trained on majority and on a threshold of three, of those that answer 100,000 random words of the longest "
                "length of training without an error, most are wrong on some word of that length."
            ),
            formula=r"\Pr_{\text{model}}\big[\exists w\in\{0,1\}^{31}:\ f(w)\ \text{wrong}\ \big|\ 10^5\ \text{random}\ w\ \text{right}\big]>\tfrac12",
            kind="measurement",
            source="keyhole (a proof or a wrong word for every model and length; how often either comes is measured)",
            prediction=(
                "At T = 31, the longest length of training, more than half of the stored models without an error on 100,000 random words are wrong "
                "on some word, by the whole 95 % interval. Shorter lengths, and a model trained on longer words, are reported."
            ),
            could_fail="A share of wrong models whose 95 % interval lies below ½.",
        ),
        NamedFunction("keyhole.apps.ledger.training.tested_models"),
    ),
    Experiment(
        Claim(
            id="sparse-heads",
            title="Heads that generalise look at the relevant positions",
            statement=(
                "After training on a 3-way AND the attention of the best head at [CLS] lies mostly on the three relevant positions in runs that "
                "generalise; uniform attention would put 3/(T+1) there. Runs that do not generalise are reported beside them."
            ),
            formula=r"\max_h\ \mathbb{E}_b\sum_{t\in I}\alpha_{h,t}(b)\ \ge\ \tfrac12\ \gg\ \frac{3}{T+1}",
            kind="measurement",
            source="Following Edelman et al. (2022), who show attention of trained models concentrating on the relevant positions",
            prediction=(
                "At T = 100 and m = 30 and 300 with the default settings: in more than half of the runs that generalise the best head has at least half "
                "of its attention on the three positions, by the whole 95 % interval of the share."
            ),
            could_fail="A share of generalising runs whose 95 % interval lies below ½.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.training.sparse_heads"),
    ),
    Experiment(
        Claim(
            id="trained-construction",
            title="Training finds the veto: a violated literal takes most of the attention",
            statement=(
                "In most one-layer transformers trained on ANDs a relevant position that shows a 0 while the others show 1 has more than half of "
                "some head's attention, and more than twice that of any other relevant position. The other way, an average of the relevant "
                "positions whichever symbols they show, is rarer. Disjunctions, majorities and layers with a penalised path norm are reported."
            ),
            formula=r"\max_h\ \mathbb{E}\,\alpha_{h,i}(b)>\tfrac12\quad(b_i=0,\ b_j=1\ \text{for } j\in I\setminus\{i\})",
            kind="measurement",
            source="keyhole; the veto is the construction with the least path norm (P_∞ = 1), which no theorem says that training finds",
            prediction=(
                "At m = 400 with the default settings: of the ANDs of 2, 3 and 4 bits that generalise, contexts pooled, more than half veto, by the "
                "whole 95 % interval. Expected besides, and not judged: penalised layers veto in every run, and majorities average."
            ),
            could_fail="A share of vetoes whose 95 % interval lies below ½.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.training.found_constructions"),
    ),
    Experiment(
        Claim(
            id="gap-and-bounds",
            title="Bounds by norms lie above the gap of trained layers",
            statement=(
                "One-layer transformers trained on a 3-way AND with a penalised path norm, under uniform, biased and sticky bits (a Markov chain). "
                "The gap between fresh and training ramp loss stands beside Theorem L, Theorem T, Occam's bound for a proved function, PAC-Bayes, "
                "a count of parameters, and the floor that the complexity of the norm's class sets."
            ),
            formula=r"\mathbb{E}\,\ell_\gamma-\widehat{\mathbb{E}}\,\ell_\gamma\;\le\;\frac{2P_\infty}{\gamma}R_m(G)+\sqrt{\frac{\ln(1/\delta)}{2m}}",
            kind="inequality",
            source="keyhole, with proof (Theorems T and L; Occam and PAC-Bayes are textbook); the layers are new runs",
            prediction=(
                "No bound lies below the lower end of the gap it bounds, and no bound by norms below the floor. Reported, not judged: how many "
                "layers Theorem L says anything of, since a single run's path norm decides that; no bound by norms is expected below 1 on sticky "
                "bits, where the scores' spread counts, and counted parameters are expected to say nothing anywhere."
            ),
            could_fail="One bound below its gap, or one by norms below its floor.",
        ),
        NamedFunction("keyhole.apps.ledger.training.gap_beside_bounds"),
    ),
)
