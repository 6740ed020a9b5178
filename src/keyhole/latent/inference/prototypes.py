"""With finitely many latent values Bayes' rule is two attentions: pool the tokens, then attend to the prototypes."""

from typing import Any

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.attention import Softmax
from keyhole.errors import AssumptionError, DataError


def prototype_attention(
    tokens: Shaped[np.ndarray, "n T"],
    emission: Float[np.ndarray, "V m"],
    prior: Float[np.ndarray, "m_prior"],
) -> Float[Any, "n m"]:
    """The posterior of the latent for each sequence of letters, by two softmax attentions.

    Statement  Let a first head attend evenly to the one-hot tokens and to a sink of logit 0 and value 0, and a second
               to m prototypes with keys log A[·, z], biases log p_z and temperature the first head's sink weight.
               Its weights are the posterior π_X(z) ∝ p_z Π_t A[x_t, z].
    Assumes    All entries of A and p positive.
    Proof      The first head's answer is n/(T + 1), n the counts, and its sink weight 1/(T + 1); their quotient is n,
               and nᵀ log A[·, z] + log p_z is the logarithm of the joint law.
    Source     Ours: the rule needs the sum of the logarithms, and the sink's weight gives their number.

    >>> A = np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]])
    >>> prototype_attention(np.array([[0, 0, 2]]), A, np.array([0.5, 0.5])).round(6).tolist()
    [[0.714286, 0.285714]]
    """
    letters = emission.shape[0]
    if emission.shape[1] != len(prior):
        raise AssumptionError(
            f"A has {emission.shape[1]} columns and p {len(prior)} entries; give one of each per latent."
        )
    if not (bool(np.all(emission > 0)) and bool(np.all(prior > 0))):
        raise AssumptionError("Prototypes are logarithms of probabilities, so every entry of A and p must be positive.")
    if tokens.size and (tokens.min() < 0 or tokens.max() >= letters):
        raise DataError(
            f"The alphabet has {letters} letters, 0 to {letters - 1}; got {tokens.min()} to {tokens.max()}."
        )
    return Softmax()(_summed(np.eye(letters)[tokens]) @ np.log(emission) + np.log(prior))


def likelihood_attention(
    log_likelihoods: Float[np.ndarray, "n T m"], prior: Float[np.ndarray, "m"]
) -> Float[Any, "n m"]:
    """The same where tokens are no letters: the first head's values are log P(x_t | z), one coordinate per latent.

    >>> likelihood_attention(np.log([[[0.5, 0.2], [0.5, 0.2], [0.2, 0.5]]]), np.array([0.5, 0.5])).round(6).tolist()
    [[0.714286, 0.285714]]
    """
    if not (bool(np.all(np.isfinite(log_likelihoods))) and bool(np.all(prior > 0))):
        raise AssumptionError("A head pools finite log-likelihoods; every token and latent needs positive probability.")
    return Softmax()(_summed(log_likelihoods) + np.log(prior))


def _summed(values: Float[np.ndarray, "n T k"]) -> Float[Any, "n k"]:
    """The sum of the values by even attention with a sink of logit 0 and value 0: its mixture over its weight."""
    weights = Softmax()(np.zeros((values.shape[0], 1 + values.shape[1])))
    rows = np.concatenate([np.zeros((values.shape[0], 1, values.shape[2])), values], axis=1)
    return (weights[:, None, :] @ rows)[:, 0, :] / weights[:, :1]
