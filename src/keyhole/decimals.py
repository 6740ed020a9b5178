"""Printed numbers that are promises: a decimal never on the wrong side of the number it stands for.

A bound from above is rounded up and a bound from below down, at the last digit shown. Numbers are taken as the exact
binary fractions they are.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite, isinf, isnan

ASKED = 12  # digits of a probability that was asked for; what its products with shares add beyond is rounding
NINES = 9  # digits of a margin at most
SURE = 1e-6  # chances of failure below this are printed themselves, not taken from 1


def at_most(value: float | Decimal, digits: int = 3, *, places: int | None = None) -> str:
    """A number in so many digits, or decimal places, rounded up: what is printed is at least as large.

    >>> at_most(0.03282), at_most(2.002), at_most(0.5), at_most(0.0931433, 4), at_most(0.0931433, places=3)
    ('0.0329', '2.01', '0.5', '0.09315', '0.094')
    """
    return _printed(value, digits, places, ROUND_CEILING)


def at_least(value: float | Decimal, digits: int = 3, *, places: int | None = None) -> str:
    """A number in so many digits, or decimal places, rounded down: what is printed is at most as large.

    >>> at_least(1.6069343910872167), at_least(0.9999999999999891, 9), at_least(13.78, places=1)
    ('1.6', '0.999999999', '13.7')
    """
    return _printed(value, digits, places, ROUND_FLOOR)


def margin(value: float, digits: int = 3) -> str:
    """A margin, rounded down: three digits, or more where these are nines, so that almost 1 is not read as 0.999.

    >>> margin(1.6069343910872167), margin(0.9999999999999891), margin(0.99951)
    ('1.6', '0.999999999', '0.9995')
    """
    shown = at_least(value, digits)
    return margin(value, digits + 1) if set(shown) == set("0.9") and digits < NINES else shown


def chance(probability: float, times: int = 1, *, digits: int = 6) -> str:
    """A probability that was asked for, or is a quotient of counts, or a multiple of it, in six digits, rounded up.

    It is the decimal that was meant, not the binary fraction next to it.

    >>> chance(0.01), chance(0.1 * 0.01), chance(0.01, times=3), chance(1e-300), chance(3 / 1000, digits=4)
    ('0.01', '0.001', '0.03', '1e-300', '0.003')
    """
    return at_most(_asked(probability) * times, digits)


def surely(delta: float) -> str:
    """1 − δ for a δ that was asked for, in six digits, rounded down; a small δ is taken from 1 in writing.

    >>> surely(0.01), surely(1e-300), surely(0.1234567)
    ('0.99', '1 − 1e-300', '0.876543')
    """
    return at_least(1 - _asked(delta), 6) if delta >= SURE else f"1 − {chance(delta)}"


def brief(value: float) -> str:
    """A number that promises nothing, to the nearest: four digits, whole counts in full, short powers of ten.

    >>> brief(0.08245), brief(100000.0), brief(2.7e10), brief(3.0)
    ('0.08245', '100,000', '2.7e10', '3')
    """
    if not isfinite(value):
        return "no number" if isnan(value) else "∞"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def percent(share: float, places: int = 1) -> str:
    """A share that promises nothing, in percent, to the nearest.

    >>> percent(0.9586), percent(0.5, 0)
    ('95.9 %', '50 %')
    """
    return f"{share:.{places}%}".replace("%", " %")


def counted(number: int, noun: str) -> str:
    """Write the number of things, in the singular where it is one.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _asked(probability: float) -> Decimal:
    return Context(prec=ASKED).create_decimal(repr(float(probability)))


def _printed(value: float | Decimal, digits: int, places: int | None, rounding: str) -> str:
    if isnan(value):
        return "no number"
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    exact = Decimal(value)
    if places is not None:
        wide = Context(prec=max(1, exact.adjusted() + 2 + places))
        return f"{exact.quantize(Decimal(1).scaleb(-places), rounding, wide):f}"
    rounded = Context(prec=digits, rounding=rounding).plus(exact).normalize()
    if not rounded:
        return "0"
    if -5 < (power := rounded.adjusted()) < digits:  # as Python's own format g has it
        return f"{rounded:f}"
    return f"{rounded.scaleb(-power):f}e{power:+03d}"
