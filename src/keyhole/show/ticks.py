"""Where a logarithmic axis is labelled: at powers of ten if there are three, or else at round numbers between them."""

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10

FEW, MANY = 3, 8  # labels: below the first finer ones are tried, above the second powers of ten are thinned
STEPS = (1.0, 2.0, 2.5, 5.0)
ROUNDING = 1e-9  # ends are computed by logarithms; a round number at an end is inside
LARGEST = 308.2  # the logarithm of about the largest double
PLAIN = 1e-3, 1e5  # numbers between them are written out
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def padded_span(values: Iterable[object], pixels: int, padding: int) -> tuple[float, float] | None:
    """The ends of a logarithmic axis over the positive numbers among these, so many pixels beyond them each way.

    A single number is given an octave on either side; where there is none, there is no axis to speak of.

    >>> padded_span([1, 10.0, None, 1000], pixels=320, padding=10)
    (0.794..., 1258.9...)
    """
    shown = [float(v) for v in values if isinstance(v, int | float) and v > 0 and isfinite(v)]
    if not shown:
        return None
    low, high = log10(min(shown)), log10(max(shown))
    beyond = (high - low) * padding / (pixels - 2 * padding) if high - low > ROUNDING else log10(2)
    return 10 ** (low - beyond), 10 ** min(high + beyond, LARGEST)


def log_ticks(low: float, high: float) -> list[float]:
    """The numbers to label between two ends: whole powers of ten, every nth where they are more than eight.

    Where fewer than three fit, 1, 2 and 5 times powers of ten; then every multiple; at last even steps.

    >>> log_ticks(80, 1.2e8), log_ticks(20, 900)
    ([100.0, 1000.0, 10000.0, 100000.0, 1000000.0, 10000000.0, 100000000.0], [20.0, 50.0, 100.0, 200.0, 500.0])
    """
    first, last = ceil(log10(low) - ROUNDING), floor(log10(high) + ROUNDING)
    apart = max(1, ceil((last - first + 1) / MANY))
    powers = [float(f"1e{k}") for k in range(first, last + 1) if k % apart == 0]
    if len(powers) >= FEW:
        return powers
    for digits in ((1, 2, 5), range(1, 10)):
        ticks = [float(f"{digit}e{k}") for k in range(first - 1, last + 1) for digit in digits]
        inside = [number for number in ticks if low * (1 - ROUNDING) <= number <= high * (1 + ROUNDING)]
        if len(inside) >= FEW:
            return inside
    return _even(low, high)


def _even(low: float, high: float) -> list[float]:
    """Multiples of the largest round step of which three or more fit; the numbers are written with its digits."""
    power = floor(log10(high - low)) - 1
    sizes = (step * 10.0**exponent for exponent in (power + 1, power) for step in reversed(STEPS))
    step = next(size for size in sizes if floor(high / size) - ceil(low / size) + 1 >= FEW)
    return [float(f"{k * step:.15g}") for k in range(ceil(low / step), floor(high / step) + 1)]


def tick_label(number: float) -> str:
    """A number beside a logarithmic axis: written out, or with a power of ten where it is very large or very small.

    >>> [tick_label(number) for number in (0.002, 50.0, 20000.0, 1e12, 2e-7)]
    ['0.002', '50', '20,000', '10¹²', '2·10⁻⁷']
    """
    if PLAIN[0] <= number < PLAIN[1]:
        return f"{number:,.10g}"
    digits, _, power = f"{number:.10e}".partition("e")
    factor = f"{float(digits):.10g}"
    raised = f"10{str(int(power)).translate(RAISED)}"
    return raised if factor == "1" else f"{factor}·{raised}"
