"""Norms in closed form: of exact compiled heads at any context, and of heads that exist only on paper."""

from math import log, sqrt

from keyhole.bounds.validate import subset_size
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, MatrixNorms, NormProfile

TARGETS = ("and", "signed-and", "parity", "junta")


def matrix(
    rows: int, columns: int, *, spectral: float, frobenius: float, columns21: float,
    rows21: float | None = None, entries11: float | None = None,
) -> MatrixNorms:  # fmt: skip
    """The norms of a matrix; what is not given is the largest value the others allow."""
    row_sum = sqrt(rows) * frobenius if rows21 is None else rows21
    entry_sum = min(sqrt(rows) * columns21, sqrt(columns) * row_sum) if entries11 is None else entries11
    return MatrixNorms(rows, columns, spectral, frobenius, columns21, row_sum, entry_sum)


def hypothetical(
    *, tokens: int, value21: float, value: float, score: float, width: int, readout: float = 1.0,
    dimension: int = 16, constant: float | None = 1.0,
) -> NormProfile:  # fmt: skip
    """One layer, one head, unit tokens: a profile from the few norms that Theorems H and S read.

    >>> hypothetical(tokens=9, value21=2.0, value=1.0, score=5.0, width=4).tokens
    9
    """
    scores = matrix(dimension, dimension, spectral=score, frobenius=score, columns21=score)
    values = matrix(dimension, width, spectral=value, frobenius=min(value21, sqrt(width) * value), columns21=value21)
    return NormProfile(
        blocks=(BlockNorms((HeadNorms(scores, values),)),),
        tokens=tokens,
        readout=readout,
        token_radius=1.0,
        query_radius=1.0,
        normaliser_constant=constant,
    )


def _pattern(s: int) -> float:
    """‖pattern(c)‖: 1/s on the s matching coordinates, −(s−1)/s on the others."""
    return sqrt((1 + (s - 1) ** 2) / s)


def _top_eigenvalue(a: float, b: float, c: float) -> float:
    """Largest eigenvalue of the symmetric matrix ((a, b), (b, c))."""
    return (a + c) / 2 + sqrt(((a - c) / 2) ** 2 + b * b)


def _units(target: str, s: int) -> tuple[float, float, list[float], list[float], list[float]]:
    """Return, for the columns, the spectral and Frobenius norms, ℓ2 norms, largest entries; and read-outs times a."""
    constant, steps = sqrt(2 / s), range(s)
    peak = max(1, s - 1) / s
    if target == "and":
        return _pattern(s), _pattern(s), [_pattern(s)], [peak], [1.0]
    if target == "signed-and":
        # const and pattern: inner product s·(1/s)(1/s) − s·(1/s)(s−1)/s = (2 − s)/s
        gram = _top_eigenvalue(_pattern(s) ** 2, (2 - s) / s, constant**2)
        columns = [_pattern(s), constant]
        return sqrt(gram), sqrt(sum(c * c for c in columns)), columns, [peak, 1 / s], [2.0, 1.0]
    if target == "junta":
        count, spectral = 2**s, 2 ** (s / 2) * max(1 / sqrt(2), abs(s - 2) / sqrt(2 * s))
        return spectral, sqrt(count) * _pattern(s), [_pattern(s)] * count, [peak] * count, [1.0] * count
    # ‖lin(j)‖: 1 − j/s on the ones, −j/s on the zeros
    columns = [constant, *(sqrt(s * ((1 - j / s) ** 2 + (j / s) ** 2)) for j in steps)]
    peaks = [1 / s, *(max(1 - j / s, j / s) for j in steps)]
    # const = (1, 1)/s and lin(j) = (−j/s, 1 − j/s) on (zeros, ones), repeated over s positions
    zeros, ones = [1 / s, *(-j / s for j in steps)], [1 / s, *(1 - j / s for j in steps)]
    squares = (sum(z * z for z in zeros), sum(z * o for z, o in zip(zeros, ones, strict=True)))
    spectral = sqrt(s * _top_eigenvalue(squares[0], squares[1], sum(o * o for o in ones)))
    frobenius = sqrt(sum(c * c for c in columns))
    return spectral, frobenius, columns, peaks, [1.0, 2.0, *([4.0] * (s - 1))]


def pair_construction(target: str, context: int, sparsity: int, leak: float = 0.5) -> NormProfile:
    """The norms of an exact head for a sparse function of T bits, tokens being one-hot (position, bit) pairs.

    Statement  Scores are β = log((T+1−s)(1−γ)/(sγ)) on the s relevant positions and 0 elsewhere, so each of
               them gets weight (1−γ)/s, and ‖M‖_F = |β|√(2s); all other norms are free of T.
    Source     Ours (Construction A: conjunctions 0/1 and ±1, parity, the general table with ±1 values).

    >>> round(pair_construction("and", 100, 3).blocks[0].heads[0].score.frobenius, 3)
    8.54
    """
    subset_size(context, sparsity)
    if target not in TARGETS or sparsity < 1:
        raise AssumptionError(
            f"Norms in closed form exist for {', '.join(TARGETS)} of at least one position; got {target} of {sparsity}."
        )
    if not 0 < leak < 1:
        raise AssumptionError(f"The leak γ is the attention that misses, so 0 < γ < 1; got {leak}.")
    s, d = sparsity, 2 * context + 1
    beta = abs(log((context + 1 - s) * (1 - leak) / (s * leak)))
    spectral, frobenius, columns, peaks, readouts = _units(target, s)
    scale = s / (1 - leak)  # 1/a
    query = beta * sqrt(2 * s)
    score = matrix(d, d, spectral=query, frobenius=query, columns21=query, rows21=2 * s * beta, entries11=2 * s * beta)
    rows = sqrt(2 * s)  # only 2s rows of W_V are not zero
    value = matrix(
        d, len(columns), spectral=spectral, frobenius=frobenius, columns21=sum(columns),
        rows21=rows * frobenius, entries11=rows * sum(columns),
    )  # fmt: skip
    return NormProfile(
        blocks=(BlockNorms((HeadNorms(score, value, query=query),)),),
        tokens=context + 1,
        readout=scale * sqrt(sum(r * r for r in readouts)),
        token_radius=1.0,
        query_radius=1.0,
        token_diameter=sqrt(2),
        path=scale * sum(r * c for r, c in zip(readouts, columns, strict=True)),
        path_inf=scale * sum(r * p for r, p in zip(readouts, peaks, strict=True)),
        spread=0.0,
        readout_nonnegative=target == "and",
    )
