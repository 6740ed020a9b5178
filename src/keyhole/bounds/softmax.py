"""How far a softmax moves when its scores move: the reason why capacity grows only like log T."""

from math import tanh

from keyhole.bounds.validate import Real, norm
from keyhole.errors import AssumptionError


def softmax_move(score_change: Real) -> float:
    """Largest ℓ1 move of a softmax whose scores each move by at most `score_change`.

    Statement  ‖softmax(a) − softmax(b)‖₁ ≤ 2 tanh(‖a − b‖∞ / 2), for any number of scores.
    Proof      Total variation is the largest gain of a set S. With ε = ‖a − b‖∞ the log-odds of S rise by
               at most 2ε, and sigmoid(x + 2ε) − sigmoid(x) is largest at x = −ε, where it is tanh(ε/2).
    Equality   Two scores, a = (ε/2, −ε/2), b = −a.
    Source     Ours (Lemma S); implies the linear forms ≤ ε ≤ 2ε, of which 2ε is recalled as the paper's.

    >>> softmax_move(0.0)
    0.0
    """
    if not score_change >= 0:  # refuses NaN too
        raise AssumptionError(f"score_change is a norm, so it must be ≥ 0; got {score_change}")
    return 2 * tanh(score_change / 2)


def smoothness(constant: float | None, normaliser: str) -> float:
    """The ℓ∞→ℓ1 constant of a normaliser, refused when it has none that is free of T.

    Statement  ‖Norm(u) − Norm(u')‖₁ ≤ c ‖u − u'‖∞: softmax at temperature τ has c = 1/τ.
    Source     Ours (Lemma S) for softmax, where 2 is recalled as the paper's constant.

    >>> smoothness(1.0, "softmax")
    1.0
    """
    if constant is None:
        raise AssumptionError(
            "A cover of attention needs a normaliser smooth from ℓ∞ to ℓ1, with a constant free of T; "
            f"{normaliser} has none. Use softmax."
        )
    return norm(f"the smoothness constant of {normaliser}", constant)
