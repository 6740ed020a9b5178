"""Claims about learning the representation: stated before anything is measured, and where each is measured."""

from keyhole.apps.ledger.finding import Claim, Experiment, NamedFunction
from keyhole.papers import ZHANG_2022

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        Claim(
            id="supervised-length",
            title="With tied weights the excess risk of supervised learning does not grow with the input; with a weight for each place it does",
            statement=(
                "In a Gaussian location, least squares on the mean of the tokens has the expected excess risk v_T d/(n − d − 1), where v_T is the Bayes risk, which falls with T. "
                "Least squares with a weight for each place has v_T Td/(n − Td − 1), which grows. Both classes hold the Bayes predictor."
            ),
            formula=r"\mathbb E[R(\hat f)-R^*]=v_T\,\frac{P}{n-P-1},\qquad P=d\ \text{(tied)},\ Td\ \text{(untied)}",
            kind="measurement",
            source="claim (c) of Zhang et al. (2022, abstract) is a generalization error independent of the input size; this instance and its closed form are keyhole's",
            prediction=(
                "At d = 4, n = 300 and T = 2, 4, …, 64: both closed forms in the 99.9 % intervals of the measured means; the slope of the tied excess in log T is at most 0 and that of the untied one above 0, "
                "with their whole 95 % intervals; the slope in log n at T = 8 has that of the closed form, about −1, in its 99.9 % interval."
            ),
            could_fail="A closed form outside its interval, a tied excess that grows with T, an untied one that does not, or another slope in n.",
            papers=(ZHANG_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.pretraining.supervised_length"),
    ),
    Experiment(
        Claim(
            id="masked-length",
            title="Masked-token training from a random start reaches maximum likelihood, at every length alike",
            statement=(
                "Attention to latent values, trained on masked tokens by gradients from a random start, has the excess KL of the maximum-likelihood estimate. As n grows at a fixed length that is rank(F)/(2n), "
                "F the Fisher matrix of one sequence; it does not grow with the length."
            ),
            formula=r"n\,\mathbb E\,\mathrm{KL}\to\tfrac12\operatorname{rank}F",
            kind="measurement",
            source="claim (c) of Zhang et al. (2022, abstract), self-supervised; the instance is keyhole's, the limit textbook",
            prediction=(
                "Two latents, four letters, n = 2000, T = 2, 3, 4, 8, …, 64 tokens, one masked: at each T the mean excess KL of trained heads is within the 99.9 % interval of the difference to that of the exact estimate on other data sets. "
                "Over the lengths with rank 7 the slope in log T lies below 0.1 with its whole 95 % interval; at T = 8 and n = 500 to 8000 the slope in log n has −1 in its 99.9 % interval. Rank 6 at T = 2, 7 beyond."
            ),
            could_fail="A length at which training ends away from the estimate, an excess that grows with the length, or one that falls at another rate in n.",
            papers=(ZHANG_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.pretraining.masked_length"),
    ),
    Experiment(
        Claim(
            id="sink-recovery",
            title="Training finds the desired parameter: the sink's logit, the bandwidth and the ridge",
            statement=(
                "Softmax attention with a sink is the exact posterior mean of a Pólya urn if the sink's logit is log α₀, and of a Gaussian location if it is log σ²/τ². "
                "Conditional-mean attention is the posterior mean of a Gaussian process if its bandwidth is the process's and its ridge σ²/τ². "
                "Trained on masked tokens from a random start, each parameter tends to that value at the rate n^(−1/2), with the standard error of textbook asymptotics."
            ),
            formula=r"\hat\theta\to\log\alpha_0,\qquad \hat\theta\to\log\frac{\sigma^2}{\tau^2}",
            kind="measurement",
            source="keyhole; that training finds the desired parameter is claim (c) of Zhang et al. (2022, abstract)",
            prediction=(
                "α = (1, 2, 1) after 8 letters, and τ² = 2, σ² = ½ after 2 numbers; n = 1000, 4000, 16,000, 64,000: the slope of the error in log n has −½ in its 99.9 % interval; "
                "at the largest n the mean error has 0 in its 99.9 % interval, and the size of the error is within 35 % of the asymptotic standard error. "
                "The same for log γ and log σ²/τ² of a process on the sphere (γ = ½, σ² = 0.09, 8 pairs), n = 250, 1000, 4000."
            ),
            could_fail="A slope, a mean error or a size of the error outside these, in one of the models.",
            papers=(ZHANG_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.pretraining.sink_recovery"),
    ),
    Experiment(
        Claim(
            id="risk-parts",
            title="The excess risk of a trained head is approximation, generalization and optimisation, each measured",
            statement=(
                "The excess log loss of a trained head over the exact prediction is the sum of three parts: what the best head of its class loses, which no data cure; what the head of least training loss loses to that, which falls like 1/n; "
                "and what training, stopped as it was, loses to the head of least training loss."
            ),
            formula=r"R(\hat f)-R^*=\underbrace{R(f_{\mathcal F})-R^*}_{\text{approximation}}+\underbrace{R(\hat f_{\rm ERM})-R(f_{\mathcal F})}_{\text{generalization}}+\underbrace{R(\hat f)-R(\hat f_{\rm ERM})}_{\text{optimisation}}",
            kind="measurement",
            source="keyhole; that the excess risk has these three terms is textbook",
            prediction=(
                "Three latents, four letters, 16 tokens, one masked; heads with room for 1, 2 and 3 latent values, n = 2000, 8000, 32,000: the approximation part falls with the room and is 0 at 3; the slope of the generalization part in log n has −1 in its 99.9 % interval for each; "
                "optimisation adds at most 1 % of the generalization part when training ends by itself, and more than 0, with its whole 99.9 % interval, when it is stopped after 3 steps."
            ),
            could_fail="Another order of the approximation parts, a generalization part of another rate, or training that does not reach the least loss.",
        ),
        NamedFunction("keyhole.apps.ledger.pretraining.risk_parts"),
    ),
    Experiment(
        Claim(
            id="condition-number",
            title="Our version of the condition number decides what masked pretraining is worth downstream",
            statement=(
                "If pretraining predicts a target of mean Aπ(X) with squared error ε², a linear head solves the downstream task Tπ(X) up to κ_T² ε², κ_T = ‖TU(AU)⁺‖ with U the vectors of sum 0. "
                "Where A does not tell latent values apart, as squared error does not for two laws of equal mean, κ_T is infinite and nothing is learned, while log loss learns everything."
            ),
            formula=r"\mathbb E\|W\hat g+b-T\pi\|^2\le\kappa_T^2\,\mathbb E\|\hat g-A\pi\|^2",
            kind="measurement",
            source="keyhole's definition and proof; that a condition number is pivotal for downstream tasks is claim (c) of Zhang et al. (2022, abstract), whose definition is not known to us",
            prediction=(
                "With an error of known size put on the exact prediction, the slope of the excess in κ_T is 2 ± 0.05. With real pretraining at one Bayes risk, the excess rises with κ_T at each step, for the theorem's head and for one fitted to labels, "
                "and never passes κ_T²ε². Equal means: squared error leaves the whole variance of the posterior, log loss less than 5 % of it."
            ),
            could_fail="Another slope, an excess that falls as κ_T grows, one above its bound, or a pair that the losses do not tell apart so.",
            papers=(ZHANG_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.pretraining.condition_number"),
    ),
    Experiment(
        Claim(
            id="trained-encoder",
            title="A trained Transformer encoder comes near the Bayes answer at the lengths it saw",
            statement=(
                "A small pre-norm encoder without positions, trained from scratch on sequences of 2 to 32 tokens, predicts the latent of a finite model near the Bayes log loss, and a masked number of a Gaussian location near the Bayes mean-squared error. "
                "Beside it stand DeepSets (the mean of token-wise units), which cannot know the length, and a network tied to positions."
            ),
            formula=r"R(\hat f)-R^*\le 0.01\ \text{nats},\qquad R(\hat f)\le 1.01\,R^*",
            kind="measurement",
            source="keyhole, in the spirit of claims (b) and (c) of Zhang et al. (2022)",
            prediction=(
                "At each of T = 2, 4, 8, 16, 32, in every run: at most 0.01 nats above the Bayes log loss of the latent, at most 1 % above the Bayes mean-squared error of a masked number. At 64 to 512 tokens the excess is reported as it is."
            ),
            could_fail="One run above 0.01 nats or 1 % at one of the lengths trained on.",
            papers=(ZHANG_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.pretraining.trained_networks"),
    ),
    Experiment(
        Claim(
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
        ),
        NamedFunction("keyhole.apps.ledger.pretraining.posterior_probes"),
    ),
)
