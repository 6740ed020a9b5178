"""Growth laws: how m* could rise with the context length T; the interface, the laws of the library, and bent laws.

A law is fitted by two numbers: ln m at the shortest context, called its level, and ln ρ, where ρ is the ratio of its
values at the longest and the shortest context. So every law is ln m = level + h(T; ρ) with h = 0 at the shortest
context, and noise of a fixed share of m is noise of a fixed size in ln m.

To add a law of the form a + b·f(T), make an `AffineLaw`. To add a law of another form, write a class with the members
of `GrowthLaw`. Give your own law to `compare_laws(..., laws=...)` or `keyhole.learn(..., laws=...)`. A law of the
library goes into `LAWS` below.

Some law of the list always fits best, whatever the truth is. So a law has to stand up to rivals before it is named,
which are not named themselves. A bent law grows between two contexts, and is level outside. An offset logarithm begins
to grow smoothly, and a saturating one ceases so. And halfway between two laws stands a curve: points that do not tell a
law from it do not tell the law from what lies between.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import ArgumentError

Array = Float[np.ndarray, "..."]
Ends = tuple[float, float]  # the shortest and the longest context

TINY = 1e-9  # a falling line may cross zero beyond the contexts it was fitted to; its logarithm stays finite
SAMPLE_LEVEL, SAMPLE_LN_RATIO = 2.0, 0.5  # where a law is tried before it is fitted
AGREEMENT = 1e-6  # how far the two ways to evaluate a law may lie apart, in ln m: far below any interval of m*


@runtime_checkable
class GrowthLaw(Protocol):
    """A law of growth with at most two parameters."""

    @property
    def name(self) -> str:
        """The name in records, such as "log"."""

    @property
    def formula(self) -> str:
        """The formula that tables show, such as "a + b ln T"."""

    @property
    def parameters(self) -> int:
        """The number of fitted coefficients: 1 (the level) or 2 (the level and the rise)."""

    def ln_rise(self, contexts: Float[np.ndarray, "n"], ends: Ends, ln_ratio: Array) -> Array:
        """h(T; ρ) = ln m(T) − ln m(shortest), of shape (*shape of ln_ratio, n).

        It is 0 at the shortest context and, for a law with two parameters, `ln_ratio` at the longest.
        """

    def coefficients(self, level: Array, ln_ratio: Array, ends: Ends) -> dict[str, Array]:
        """The numbers of the formula by name, from the level and ln ρ."""

    def value(self, context: float, coefficients: Mapping[str, float]) -> float:
        """The law's m at a context, from the numbers of the formula."""


@dataclass(frozen=True)
class ConstantLaw:
    """The same m at every context: the hypothesis that every other law has to beat."""

    name: str = "constant"
    formula: str = "a"
    parameters: ClassVar[int] = 1  # the level alone

    def ln_rise(self, contexts: Float[np.ndarray, "n"], ends: Ends, ln_ratio: Array) -> Array:  # noqa: ARG002
        """No rise."""
        return np.zeros((*np.shape(ln_ratio), len(contexts)))

    def coefficients(self, level: Array, ln_ratio: Array, ends: Ends) -> dict[str, Array]:  # noqa: ARG002
        """The number a."""
        return {"a": np.asarray(np.exp(level))}

    def value(self, context: float, coefficients: Mapping[str, float]) -> float:  # noqa: ARG002
        """The number a."""
        return coefficients["a"]


@dataclass(frozen=True)
class AffineLaw:
    """a + b·f(T) for an increasing function f."""

    name: str
    formula: str
    f: Callable[[Array], Array]
    parameters: ClassVar[int] = 2

    def ln_rise(self, contexts: Float[np.ndarray, "n"], ends: Ends, ln_ratio: Array) -> Array:
        """The logarithm ln(1 + (ρ − 1)·(f(T) − f(shortest))/(f(longest) − f(shortest)))."""
        first, last = self._end_values(ends)
        along = (self.f(contexts) - first) / (last - first)
        return np.asarray(np.log(np.maximum(1 + np.multiply.outer(np.expm1(ln_ratio), along), TINY)))

    def coefficients(self, level: Array, ln_ratio: Array, ends: Ends) -> dict[str, Array]:
        """The numbers a and b."""
        first, last = self._end_values(ends)
        b = np.exp(level) * np.expm1(ln_ratio) / (last - first)
        return {"a": np.asarray(np.exp(level) - b * first), "b": np.asarray(b)}

    def value(self, context: float, coefficients: Mapping[str, float]) -> float:
        """The value a + b·f(T)."""
        return float(coefficients["a"] + coefficients["b"] * self.f(np.array(context)))

    def _end_values(self, ends: Ends) -> tuple[float, float]:
        """The values of f at the shortest and the longest context."""
        return float(self.f(np.array(ends[0]))), float(self.f(np.array(ends[1])))


@dataclass(frozen=True)
class PowerLaw:
    """a·T^p."""

    name: str = "power"
    formula: str = "a T^p"
    parameters: ClassVar[int] = 2

    def ln_rise(self, contexts: Float[np.ndarray, "n"], ends: Ends, ln_ratio: Array) -> Array:
        """A straight line in ln T."""
        along = np.log(contexts / ends[0]) / np.log(ends[1] / ends[0])
        return np.asarray(np.multiply.outer(ln_ratio, along))

    def coefficients(self, level: Array, ln_ratio: Array, ends: Ends) -> dict[str, Array]:
        """The numbers a and p."""
        power = ln_ratio / np.log(ends[1] / ends[0])
        return {"a": np.asarray(np.exp(level - power * np.log(ends[0]))), "p": np.asarray(power)}

    def value(self, context: float, coefficients: Mapping[str, float]) -> float:
        """The value a·T^p."""
        return float(coefficients["a"] * context ** coefficients["p"])


LOG = AffineLaw("log", "a + b ln T", np.log)
SQUARE_ROOT = AffineLaw("square root", "a + b √T", np.sqrt)
LINEAR = AffineLaw("linear", "a + b T", np.positive)
LAWS: tuple[GrowthLaw, ...] = (  # what is compared unless other laws are given; of equal laws the first one wins
    ConstantLaw(),
    LOG,
    AffineLaw("log squared", "a + b (ln T)²", lambda contexts: np.log(contexts) ** 2),
    SQUARE_ROOT,
    LINEAR,
    PowerLaw(),
)


def read_laws(laws: Sequence[str | GrowthLaw]) -> tuple[GrowthLaw, ...]:
    """Return the laws to compare, given as objects or by the names of `LAWS`: at least two, no name twice."""
    known = {law.name: law for law in LAWS}
    for law in laws:
        if isinstance(law, str) and law not in known:
            raise ArgumentError(f"{law!r} is not a growth law; there are {', '.join(known)}.")
        if not isinstance(law, str) and law.parameters not in (1, 2):
            raise ArgumentError(
                f"The growth law {law.name!r} has {law.parameters} parameters; a law is fitted by 1 or 2."
            )
    compared = tuple(known[law] if isinstance(law, str) else law for law in laws)
    names = [law.name for law in compared]
    if len(names) < 2:
        raise ArgumentError(f"A comparison of {len(names)} growth laws was asked for; give at least 2.")
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"The growth law {name!r} was given twice; give each law once.")
    return compared


def check_law(law: GrowthLaw, contexts: Float[np.ndarray, "n"]) -> None:
    """Refuse a law that breaks its interface at these contexts (in increasing order), tried at one level and ratio.

    Its rise has to be a number at every context, 0 at the shortest and ln ρ at the longest, and its value has to be
    e^(level + rise). Otherwise the curve that is fitted is not the curve that is shown.
    """
    ends = float(contexts[0]), float(contexts[-1])
    with np.errstate(all="ignore"):
        rise = np.asarray(law.ln_rise(contexts, ends, np.array(SAMPLE_LN_RATIO)))
        numbers = law.coefficients(np.array(SAMPLE_LEVEL), np.array(SAMPLE_LN_RATIO), ends)
        coefficients = {name: float(number) for name, number in numbers.items()}
        values = np.array([law.value(float(context), coefficients) for context in contexts])
    at = f"The growth law {law.name!r} was asked for at T = {ends[0]:g} to {ends[1]:g}"
    if rise.shape != contexts.shape or not np.isfinite(rise).all():
        raise ArgumentError(f"{at}, and its ln_rise is not a number there; use contexts where the law has a value.")
    last = SAMPLE_LN_RATIO if law.parameters == 2 else 0.0
    if not np.allclose(rise[[0, -1]], [0.0, last], rtol=0.0, atol=AGREEMENT):
        raise ArgumentError(
            f"{at}, and its ln_rise goes from {rise[0]:.6g} to {rise[-1]:.6g}; it has to go from 0 to {last:g}."
        )
    if not np.allclose(values, np.exp(SAMPLE_LEVEL + rise), rtol=AGREEMENT, atol=0.0):
        raise ArgumentError(f"{at}, and its value is not e^(level + ln_rise); make the two agree.")


BENDING: tuple[GrowthLaw, ...] = (LOG, SQUARE_ROOT, LINEAR)  # with a free exponent as well a bend imitates every law


@dataclass(frozen=True)
class BentLaw:
    """A law that grows from one context to another, and is level outside."""

    law: GrowthLaw
    start: float
    stop: float
    bend: float  # the one of the two at which growth begins or ends
    parameters: ClassVar[int] = 2  # the place of the bend is a third number, searched outside

    @property
    def name(self) -> str:
        """The name of the law that is bent."""
        return self.law.name

    @property
    def formula(self) -> str:
        """The formula of the law that is bent, and where."""
        return f"{self.law.formula} {'up to' if self.bend == self.stop else 'from'} T = {self.bend:g}"

    def ln_rise(self, contexts: Float[np.ndarray, "n"], ends: Ends, ln_ratio: Array) -> Array:
        """The rise of the law between the two contexts."""
        first, last = np.clip(ends, self.start, self.stop)
        return self.law.ln_rise(np.clip(contexts, self.start, self.stop), (float(first), float(last)), ln_ratio)

    def coefficients(self, level: Array, ln_ratio: Array, ends: Ends) -> dict[str, Array]:
        """The numbers of the law that is bent."""
        first, last = np.clip(ends, self.start, self.stop)
        return self.law.coefficients(level, ln_ratio, (float(first), float(last)))

    def value(self, context: float, coefficients: Mapping[str, float]) -> float:
        """The law's m at the nearest context at which it grows."""
        return self.law.value(float(np.clip(context, self.start, self.stop)), coefficients)


def bent_laws(contexts: Float[np.ndarray, "n"]) -> tuple[BentLaw, ...]:
    """Every law of `BENDING` with its growth ended, or begun, at each context between the shortest and the longest.

    >>> [law.formula for law in bent_laws(np.array([10.0, 100.0, 1000.0]))][:2]
    ['a + b ln T up to T = 100', 'a + b ln T from T = 100']
    """
    low, high = float(contexts.min()), float(contexts.max())
    inner = [float(context) for context in contexts if low < context < high]
    return tuple(
        BentLaw(law, start, stop, bend)
        for law in BENDING
        for bend in inner
        for start, stop in ((low, bend), (bend, high))
    )


@dataclass(frozen=True)
class Rival:
    """A curve that is not in the list of laws, and that a law has to stand up to."""

    curve: AffineLaw
    scaled: bool  # whether it is one of many that differ by a scale, which is then a third number
    contains: tuple[str, ...] = ()  # names of the laws that it nears at some scale, so that it cannot be ruled out

    @property
    def formula(self) -> str:
        """The formula of the curve."""
        return self.curve.formula


def rival_laws(contexts: Float[np.ndarray, "n"]) -> tuple[Rival, ...]:
    """Logarithms with an offset, and saturating ones, by scale; and the curves halfway between two laws.

    >>> [rival.formula for rival in rival_laws(np.array([10.0, 1000.0]))][-3:]
    ['a + b (ln T)^1.5', 'a + b T^¼', 'a + b T^¾']
    """
    scales = np.geomspace(contexts.min() / BEYOND, contexts.max() * BEYOND, SCALES).tolist()
    return (
        *(Rival(_offset(scale), scaled=True, contains=("log", "linear")) for scale in scales),
        *(Rival(_saturating(scale), scaled=True, contains=("log",)) for scale in scales),
        *(Rival(AffineLaw("halfway", formula, f), scaled=False) for formula, f in HALFWAY.items()),
    )


BEYOND, SCALES = 2.0, 13  # the scales reach so far beyond the contexts, and are so many
HALFWAY: dict[str, Callable[[Array], Array]] = {
    "a − b T^(−¼)": lambda contexts: -(contexts**-0.25),
    "a + b (ln T)^1.5": lambda contexts: np.log(contexts) ** 1.5,
    "a + b T^¼": lambda contexts: contexts**0.25,
    "a + b T^¾": lambda contexts: contexts**0.75,
}


def _offset(scale: float) -> AffineLaw:
    return AffineLaw("offset log", f"a + b ln(T + {scale:.2g})", lambda contexts: np.log(contexts + scale))


def _saturating(scale: float) -> AffineLaw:
    return AffineLaw("saturating", f"a − b ln(1 + {scale:.2g}/T)", lambda contexts: -np.log1p(scale / contexts))
