"""A latent with finitely many values: Bayes' rule is a softmax of pooled log-likelihoods.

The posterior follows from the log-likelihood of a token under every latent value.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from math import comb, lgamma
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int, Shaped
from keyhole.attention import Softmax
from keyhole.errors import AssumptionError
from keyhole.latent.inference.problem import Pooling, Prototypes
from keyhole.latent.inference.prototypes import likelihood_attention, prototype_attention
from keyhole.latent.models.base import (
    Draw,
    Letters,
    Probabilities,
    Rng,
    Tokens,
    draw_letters,
    letter_counts,
    require_letters,
    require_probabilities,
    require_sizes,
)
from keyhole.latent.models.registry import register_model
from keyhole.latent.models.without_keys import ModelWithoutKeys

MOST_COUNTS = 200_000  # count vectors that are summed


class FiniteLatent(ModelWithoutKeys):
    """A model whose latent is one of m values, with prior p.

    A new model of this kind gives four things: the draw of tokens given the latent, their log-likelihood under every
    latent value, and the mean and the spread of a token under each.
    """

    prior: Float[Any, "m"]
    attentions = ("softmax", "sink", "prototypes")

    @abstractmethod
    def draw(self, latents: Int[Any, "n"], length: int, rng: np.random.Generator) -> Tokens:
        """Tokens of each sequence, independent given its latent."""

    @abstractmethod
    def log_likelihood(self, tokens: Tokens) -> Float[Any, "n T m"]:
        """The logarithm of P(token | z) for every token and every latent value z; −∞ where it cannot be."""

    @property
    @abstractmethod
    def latent_means(self) -> Float[Any, "m k"]:
        """E[x | z] for every latent value."""

    @property
    @abstractmethod
    def latent_spreads(self) -> Float[Any, "m"]:
        """Var(x | z) for every latent value, summed over coordinates."""

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw a latent from the prior for each sequence, then its tokens."""
        require_sizes(n, length)
        stream = np.random.default_rng(rng)
        latents = stream.choice(len(self.prior), size=n, p=self.prior / self.prior.sum())
        return Draw(self.draw(latents, length, stream), latents)

    def log_posterior(self, tokens: Tokens) -> Float[Any, "n m"]:
        """The logarithm of the posterior up to a constant: log p_z + Σ_t log P(x_t | z)."""
        with np.errstate(divide="ignore"):
            scores = np.log(self.prior) + self.log_likelihood(tokens).sum(axis=1)
        if bool(np.any(np.all(np.isneginf(scores), axis=1))):
            raise AssumptionError("A sequence has probability 0 under every latent value, so it has no posterior.")
        return scores

    def posterior(self, tokens: Tokens) -> Probabilities:
        """The law of the latent given each sequence.

        Statement  π_X = softmax_z(log p_z + Σ_t log P(x_t | z)): attention of one query to the m latent values,
                   whose scores are the pooled log-likelihoods.
        Proof      Bayes' rule, normalised.
        Source     Standard.

        >>> three = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
        >>> three.posterior(np.array([[0, 0, 2]])).round(6).tolist()
        [[0.714286, 0.285714]]
        """
        return Softmax()(self.log_posterior(tokens))

    @property
    def pooling(self) -> Pooling:
        """Means and variances over the prior; the posterior mean is not a linear rule."""
        means = self.latent_means
        middle = self.prior @ means
        signal = float(self.prior @ np.square(means - middle).sum(axis=1))
        return Pooling(middle, float(self.prior @ self.latent_spreads), signal, linear=False)

    @property
    def prototypes(self) -> Prototypes:
        """The latent values."""
        return Prototypes(self.latent_means, self.attend_to_latents)

    def token_means(self, latents: Int[Any, "n"]) -> Float[Any, "n k"]:
        """E[x | z] for each of these latents."""
        return self.latent_means[latents]

    def posterior_mean(self, tokens: Tokens) -> Float[Any, "n k"]:
        """The means of the latent values, weighed by the posterior; for letters the law Aπ_X of the next one.

        >>> three = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
        >>> three.posterior_mean(np.array([[0, 0, 2]])).round(6).tolist()
        [[0.414286, 0.3, 0.285714]]
        """
        return self.posterior(tokens) @ self.latent_means

    def attend_to_latents(self, tokens: Tokens) -> Probabilities:
        """The posterior of the latent by two softmax attentions, to the tokens and then to the latent values."""
        return likelihood_attention(self.log_likelihood(tokens), self.prior)


@dataclass(frozen=True)
class FiniteModel(FiniteLatent):
    """Letters: P(token = v | z) = A[v, z], and P(z) = p[z]."""

    emission: Float[Any, "V m"]  # A: columns sum to 1
    prior: Float[Any, "m_prior"]  # p: as long as A has columns

    def __post_init__(self) -> None:
        require_probabilities("the prior p", self.prior)
        require_probabilities("each column of A, the law of a token given a latent value,", self.emission)
        if self.emission.shape[1] != len(self.prior):
            raise AssumptionError(
                f"A has {self.emission.shape[1]} columns and p {len(self.prior)} entries; give one of each per latent."
            )

    @property
    def letters(self) -> int:
        """The size of the alphabet."""
        return int(self.emission.shape[0])

    def draw(self, latents: Int[Any, "n"], length: int, rng: np.random.Generator) -> Letters:
        """Letters from the column of each sequence's latent."""
        return draw_letters(self.emission.T[latents], length, rng)

    def log_likelihood(self, tokens: Letters) -> Float[Any, "n T m"]:
        """The row of log A of every token."""
        require_letters(tokens, self.letters)
        with np.errstate(divide="ignore"):
            return np.log(self.emission)[tokens]

    @property
    def latent_means(self) -> Float[Any, "m V"]:
        """The law of a letter, which is the mean of its one-hot vector."""
        return self.emission.T

    @property
    def latent_spreads(self) -> Float[Any, "m"]:
        """Σ_v A[v, z](1 − A[v, z])."""
        means = self.latent_means
        return (means * (1 - means)).sum(axis=1)

    def token_values(self, tokens: Int[Any, "T"]) -> Float[Any, "T V"]:
        """One-hot vectors."""
        return np.eye(self.letters)[tokens]

    def attend_to_latents(self, tokens: Letters) -> Probabilities:
        """By counts of letters and prototypes log A."""
        return prototype_attention(tokens, self.emission, self.prior)

    def bayes_risk(self, length: int) -> float:
        """The log loss E[−log π_X(z)] = H(z | X) of the posterior, summed over all count vectors."""
        require_sizes(1, length)
        if comb(length + self.letters - 1, length) > MOST_COUNTS:
            raise AssumptionError(
                f"{length:,} of {self.letters} letters have more than {MOST_COUNTS:,} vectors of counts; use shorter "
                "sequences or fewer letters."
            )
        joint = np.concatenate(list(self.joint_counts(length)))  # (count vectors, m): P(counts, z)
        whole = joint.sum(axis=1, keepdims=True)
        posterior = np.divide(joint, whole, out=np.zeros_like(joint), where=whole > 0)
        return float((whole[:, 0] * entropies(posterior)).sum())

    def log_in_order(self, counts: Int[Any, "block V"]) -> Float[Any, "block m"]:
        """The logarithm of P(one sequence of these counts | z), for every vector of counts and latent value."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.emission)
        # 0 · (−∞) is 0 here: a letter that cannot occur does not, when its count is 0
        return np.where(counts[:, :, None] > 0, counts[:, :, None] * logs, 0.0).sum(axis=1)

    def joint_counts(self, length: int) -> Iterator[Float[Any, "block m"]]:
        """P(counts, z) for every vector of counts of `length` letters, a block at a time."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.prior)
        for counts in count_vectors(self.letters, length):
            yield np.exp(log_multinomials(counts)[:, None] + self.log_in_order(counts) + log_prior)


def entropies(laws: Probabilities) -> Float[Any, "n"]:
    """The entropy of each row, in nats; 0 log 0 = 0."""
    logs = np.log(laws, out=np.zeros_like(laws), where=laws > 0)
    return -(laws * logs).sum(axis=1)


def count_vectors(letters: int, length: int, block: int = 4096) -> Iterator[Int[Any, "block letters"]]:
    """Every way to divide `length` tokens among the letters, a block at a time.

    >>> next(count_vectors(2, 2)).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    # stars and bars: a non-increasing choice of letters − 1 cuts among length + 1 places
    choices = combinations_with_replacement(range(length, -1, -1), letters - 1)
    while cuts := list(islice(choices, block)):
        ends = np.pad(np.array(cuts, dtype=np.int64).reshape(len(cuts), letters - 1), ((0, 0), (1, 1)))
        ends[:, 0] = length
        yield -np.diff(ends, axis=1)


def log_multinomials(counts: Int[Any, "block letters"]) -> Float[Any, "block"]:
    """The logarithm of the number of orders of each vector of counts.

    >>> log_multinomials(np.array([[1, 2, 0]])).round(6).tolist()
    [1.098612]
    """
    logs = np.array([lgamma(count + 1) for count in range(int(counts.sum(axis=1).max()) + 1)])
    return logs[counts.sum(axis=1)] - logs[counts].sum(axis=1)


def counts_of(model: FiniteModel) -> Callable[[Letters], Shaped[Any, "n V"]]:
    """The representation that keeps how often each letter occurs: sufficient, rarely minimal."""
    return lambda tokens: letter_counts(tokens, model.letters)


register_model("finite", lambda: FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5])))
