"""The constants of rounding to nearest in double precision, which every rigorous operation uses.

*Rounding.* One operation is off by a relative u = 2^−53 at most. A sum of n products, in any order and with or without
fused operations, is off by at most γ_n = n u/(1 − n u) times the sum of absolute products.

*The bound itself* is computed in double precision too, as a sum of non-negative terms: its relative error is γ_n at
most. A factor of `GROW` = 1 + 2^−30 covers that for n < 2^20, since γ_n < 2^−32 then, with a few operations more.

*Underflow.* A product or quotient that underflows is rounded to a multiple of 2^−1074, and is off by half of that,
2^−1075, at most besides. Sums and differences of doubles, and roots, lose nothing: a result below the normal
numbers is a multiple of 2^−1074 already, so that it is exact. So an operation with at most n products and quotients
loses n · 2^−1075 at most, if no γ multiplies a factor of a product: what is lost there would be multiplied by the other
factor. Two allowances cover this:

- `UNDERFLOW` = 2^−1000, for n ≤ 2^75: for a number that is compared, or added, and multiplied no more.
- `UNDERFLOW_OF_RADIUS` = 2^−200, for a radius, which is multiplied by other radii later: its own square is a normal
  number, and arithmetic below the normal numbers is slow.
"""

from math import inf

UNIT = 2.0**-53
GROW = 1 + 2.0**-30
UNDERFLOW = 2.0**-1000
UNDERFLOW_OF_RADIUS = 2.0**-200


def gamma(terms: int, *, unit: float = UNIT, enlarged: float = GROW) -> float:
    """γ_n = n u/(1 − n u), the relative error of a sum of n products, times `enlarged`; infinite where n u ≥ 1.

    >>> gamma(2) >= 2 * 2.0**-53, gamma(4, unit=0.25)
    (True, inf)
    """
    return enlarged * terms * unit / (1 - terms * unit) if terms * unit < 1 else inf
