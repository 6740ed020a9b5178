"""Masked prediction in a finite latent model: the law of context and masked block, its loss, slope and Fisher matrix.

A context of letters enters through its counts alone, and so does the block, so that a table over counts is the whole
law. Parameters are log(A[v, z]/A[V−1, z]) for every letter but the last, then log(p_z/p_{m−1}) for every latent value
but the last, as one vector.

Least squares on the tokens of a Gaussian location: tied weights, which pool the tokens, and a weight for each place.

z ~ N(0, τ²I_d) per sequence, tokens x = z + N(0, σ²I_d), label y = ⟨w, z⟩ + N(0, η²) with ‖w‖ = 1.
"""

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, count_vectors, letter_counts, log_multinomials

MOST_CELLS = 1_000_000  # of a table over contexts and blocks
LEFT_OUT = 1e-13  # the probability of the pairs that are left out of a table
RANK = 1e-12  # an eigenvalue of the Fisher matrix below this share of the largest is 0


@dataclass(frozen=True)
class MaskedTable:
    """Contexts and masked blocks as counts of letters, and the weight of each pair: a law, or a sample's shares."""

    contexts: Float[Any, "K V"]  # whole numbers, as floats: their products are then BLAS's
    wholes: Float[Any, "K V"]  # context and block together
    weights: Float[Any, "K"]

    @property
    def blocks(self) -> Float[Any, "K V"]:
        """The counts of the masked block."""
        return self.wholes - self.contexts


def require_mask(length: int, block: int) -> None:
    """Refuse a mask that leaves no context, and one of nothing."""
    if length < 2:
        raise ArgumentError(
            f"Sequences of {length} token{'' if length == 1 else 's'} were asked for; masking needs at least 2, one to "
            "predict and one to read."
        )
    if block < 1:
        raise ArgumentError(f"A mask of {block} tokens was asked for; mask at least 1.")
    if block >= length:
        raise ArgumentError(
            f"A mask of {block} token{'' if block == 1 else 's'} was asked for in sequences of {length}; it leaves "
            "nothing to read. Mask fewer, or use longer sequences."
        )


def require_few_counts(letters: int, tokens: int) -> None:
    """Refuse to list the vectors of counts of no tokens, and more of them than a table has room for."""
    if tokens < 1:
        raise ArgumentError(f"A mask of {tokens} tokens was asked for; mask at least 1.")
    if (several := comb(tokens + letters - 1, tokens)) > MOST_CELLS:
        raise ArgumentError(
            f"{tokens:,} of {letters} letters have {several:,} vectors of counts, and at most {MOST_CELLS:,} are "
            "summed; use shorter sequences, a smaller mask or fewer letters."
        )


def require_few_pairs(letters: int, length: int, block: int) -> None:
    """Refuse more pairs of a context and a block than a table has room for."""
    context = length - block
    cells = comb(context + letters - 1, context) * comb(block + letters - 1, block)
    if cells > MOST_CELLS:
        raise ArgumentError(
            f"{cells:,} pairs of a context of {context} and a block of {block} of {letters} letters would have to be "
            f"summed; at most {MOST_CELLS:,} are. Use shorter sequences, a smaller mask or fewer letters."
        )


def population_table(model: FiniteModel, length: int, block: int = 1) -> MaskedTable:
    """Every context of `length` − `block` letters and every masked block, with their exact probability.

    The rarest pairs, which together have a probability of at most 1e-13, are left out.

    >>> model = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
    >>> table = population_table(model, 4)
    >>> len(table.weights), round(float(table.weights.sum()), 12)
    (30, 1.0)
    """
    require_mask(length, block)
    letters, context = model.letters, length - block
    require_few_pairs(letters, length, block)
    before = np.concatenate(list(model.joint_counts(context)))  # (contexts, m)
    masked = np.concatenate(list(count_vectors(letters, block)))
    law = np.exp(model.log_in_order(masked) + log_multinomials(masked)[:, None])
    weights = (before @ law.T).ravel()
    contexts = np.repeat(np.concatenate(list(count_vectors(letters, context))), len(masked), axis=0)
    blocks = np.tile(masked, (len(before), 1))
    order = np.argsort(weights)
    kept = np.sort(order[np.cumsum(weights[order]) > LEFT_OUT])
    return _table(contexts[kept], blocks[kept], weights[kept])


def draw_table(tokens: Int[Any, "n T"], letters: int, block: int = 1) -> MaskedTable:
    """The table of a sample of sequences whose last `block` tokens are masked; equal pairs are counted together.

    Which tokens are masked does not matter where tokens are exchangeable.
    """
    require_mask(tokens.shape[1], block)
    if len(tokens) < 1:
        raise ArgumentError("No sequence was given to learn from; give at least 1.")
    contexts, blocks = letter_counts(tokens[:, :-block], letters), letter_counts(tokens[:, -block:], letters)
    pairs, times = np.unique(np.concatenate([contexts, blocks], axis=1), axis=0, return_counts=True)
    return _table(pairs[:, :letters], pairs[:, letters:], times / len(tokens))


def parameters_of(model: FiniteModel) -> Float[Any, "P"]:
    """The model's parameters as one vector; every probability must be above 0."""
    if bool(np.any(model.emission <= 0)) or bool(np.any(model.prior <= 0)):
        raise ArgumentError(
            "The model has a probability of 0, and log-ratios need all of them above 0; use another model."
        )
    logs = np.log(model.emission)
    prior = np.log(model.prior)
    return np.concatenate([(logs[:-1] - logs[-1]).ravel(), prior[:-1] - prior[-1]])


def unpack(parameters: Float[Any, "P"], letters: int, m: int) -> tuple[Float[Any, "V m"], Float[Any, "m"]]:
    """Log A and log p of a vector of parameters."""
    cut = (letters - 1) * m
    ratios = np.concatenate([parameters[:cut].reshape(letters - 1, m), np.zeros((1, m))])
    prior = np.append(parameters[cut:], 0.0)
    return ratios - np.logaddexp.reduce(ratios, axis=0), prior - np.logaddexp.reduce(prior)


def masked_loss(parameters: Float[Any, "P"], table: MaskedTable, m: int) -> tuple[float, Float[Any, "P"]]:
    """The log loss of predicting the masked block in order, and its slope in the parameters.

    Statement  −Σ w [log Σ_z p_z Π A[x, z] over context and block − the same over the context], natural logarithms.
    Proof      Bayes' rule: P(block | context) = P(context, block)/P(context).
    Source     Standard.
    """
    letters = table.contexts.shape[1]
    logs, prior = unpack(parameters, letters, m)
    whole, over_whole = _pooled(table.wholes, logs, prior)
    part, over_part = _pooled(table.contexts, logs, prior)
    weights = table.weights[:, None]
    pulled = table.wholes.T @ (weights * over_whole) - table.contexts.T @ (weights * over_part)
    slope = pulled - np.exp(logs) * pulled.sum(axis=0)
    prior_slope = (weights * (over_whole - over_part)).sum(axis=0)
    return -float(table.weights @ (whole - part)), -np.concatenate([slope[:-1].ravel(), prior_slope[:-1]])


def excess_divergence(parameters: Float[Any, "P"], truth: FiniteModel, population: MaskedTable, m: int) -> float:
    """E KL(exact law of the block ‖ the learned one), in nats, over every context: exact."""
    with np.errstate(divide="ignore"):
        logs, prior = np.log(truth.emission), np.log(truth.prior)
    logs = np.where(np.isneginf(logs), -1e4, logs)
    whole, _ = _pooled(population.wholes, logs, prior)
    part, _ = _pooled(population.contexts, logs, prior)
    exact = -float(population.weights @ (whole - part))
    return masked_loss(parameters, population, m)[0] - exact


def fisher_spectrum(model: FiniteModel, length: int, block: int = 1) -> tuple[float, ...]:
    """The eigenvalues of the Fisher information of one sequence about the parameters, largest first.

    Statement  With F of rank r, n times the excess KL of the maximum-likelihood estimate tends to r/2 as n → ∞ at a
               fixed length; the limit is reached for n well above 1/(least nonzero eigenvalue).
    Proof      The score of log P(block | context) has mean 0 given the context, so F is the mean of its outer
               products. The excess is ½(θ̂ − θ)ᵀF(θ̂ − θ) to second order and √n(θ̂ − θ) tends to N(0, F⁺) on F's range.
    Source     Textbook asymptotics.

    >>> columns = np.array([[0.4, 0.1], [0.3, 0.15], [0.2, 0.3], [0.1, 0.45]])
    >>> spectrum = fisher_spectrum(FiniteModel(columns, np.array([0.6, 0.4])), 3)
    >>> [round(value, 4) for value in spectrum]
    [0.19, 0.1162, 0.0752, 0.0347, 0.0323, 0.0179, 0.0034]
    """
    table = population_table(model, length, block)
    m = len(model.prior)
    logs, prior = unpack(parameters_of(model), model.letters, m)
    _, over_whole = _pooled(table.wholes, logs, prior)
    _, over_part = _pooled(table.contexts, logs, prior)
    pulled = table.wholes[:, :, None] * over_whole[:, None, :] - table.contexts[:, :, None] * over_part[:, None, :]
    slopes = pulled - np.exp(logs) * pulled.sum(axis=1, keepdims=True)
    scores = np.concatenate([slopes[:, :-1].reshape(len(slopes), -1), (over_whole - over_part)[:, :-1]], axis=1)
    eigenvalues = np.linalg.eigvalsh(scores.T @ (table.weights[:, None] * scores))[::-1]
    return tuple(float(value) if value > RANK * eigenvalues[0] else 0.0 for value in eigenvalues)


def _table(contexts: Int[Any, "K V"], blocks: Int[Any, "K V"], weights: Float[Any, "K"]) -> MaskedTable:
    return MaskedTable(contexts.astype(float), (contexts + blocks).astype(float), weights)


def _pooled(
    counts: Float[Any, "K V"], logs: Float[Any, "V m"], prior: Float[Any, "m"]
) -> tuple[Float[Any, "K"], Float[Any, "K m"]]:
    """Log P(counts in one order), and the posterior of the latent given them."""
    scores = counts @ logs + prior
    top = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - top)
    sums = exponentials.sum(axis=1, keepdims=True)
    return (top + np.log(sums))[:, 0], exponentials / sums


@dataclass(frozen=True)
class PooledSquares:
    """The model of sequences and labels; in it the excess risk of least squares is known exactly."""

    width: int = 4  # d
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 1.0  # σ²
    label_variance: float = 0.25  # η²

    def sample(self, n: int, length: int, rng: np.random.Generator) -> tuple[Float[Any, "n T d"], Float[Any, "n"]]:
        """Sequences and their labels; w is the first axis, which no estimate is given."""
        latents = np.sqrt(self.prior_variance) * rng.normal(size=(n, 1, self.width))
        tokens = latents + np.sqrt(self.noise_variance) * rng.normal(size=(n, length, self.width))
        return tokens, latents[:, 0, 0] + np.sqrt(self.label_variance) * rng.normal(size=n)

    def learn(self, tokens: Float[Any, "n T d"], labels: Float[Any, "n"], *, tied: bool) -> float:
        """Fit least squares without an intercept, and return its exact excess risk over the Bayes prediction.

        The Bayes prediction is ⟨s w, mean of the tokens⟩, s = τ²/(τ² + σ²/T): linear in either set of inputs, so that
        the class has no approximation error. The excess is (β̂ − β)ᵀΣ(β̂ − β) with Σ the covariance of the inputs.
        """
        n, length, width = tokens.shape
        inputs = tokens.mean(axis=1) if tied else tokens.reshape(n, length * width)
        if n <= inputs.shape[1]:
            raise ArgumentError(
                f"{n} sequences were given for {inputs.shape[1]} weights; least squares needs more sequences than "
                "weights."
            )
        solution = np.linalg.lstsq(inputs, labels, rcond=None)[0]
        share = self.prior_variance / (self.prior_variance + self.noise_variance / length)
        best = np.zeros(width)
        best[0] = share
        if tied:
            return float((self.prior_variance + self.noise_variance / length) * np.square(solution - best).sum())
        apart = solution.reshape(length, width) - best / length
        summed = apart.sum(axis=0)  # Σ = τ²(11ᵀ ⊗ I) + σ²I
        return float(self.prior_variance * np.square(summed).sum() + self.noise_variance * np.square(apart).sum())


def pooled_risk(model: PooledSquares, length: int) -> float:
    """The Bayes risk v_T = η² + τ²(σ²/T)/(τ² + σ²/T).

    >>> round(pooled_risk(PooledSquares(), 8), 6)
    0.361111
    """
    noise = model.noise_variance / length
    return model.label_variance + model.prior_variance * noise / (model.prior_variance + noise)


def pooled_excess(model: PooledSquares, n: int, length: int, *, tied: bool) -> float:
    """The expected excess risk of least squares on n sequences, exactly.

    Statement  v_T P/(n − P − 1) with P = d weights (tied) or T·d (a weight for each place); infinite for n ≤ P + 1.
    Proof      Inputs and residual are Gaussian and independent, the residual of variance v_T. Given the inputs the
               excess is v_T tr(Σ(XᵀX)⁻¹), and E(XᵀX)⁻¹ = Σ⁻¹/(n − P − 1), the mean of an inverse Wishart matrix.
    Source     Textbook.

    >>> [round(pooled_excess(PooledSquares(), 300, 8, tied=tied), 6) for tied in (True, False)]
    [0.004896, 0.043279]
    """
    weights = model.width * (1 if tied else length)
    if n <= weights + 1:
        return float("inf")
    return pooled_risk(model, length) * weights / (n - weights - 1)
