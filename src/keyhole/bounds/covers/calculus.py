"""The cover calculus: classes of functions as lists of terms, closed under sums, maps and depth.

A term (c, A, Λ) says: accuracy ε for this part costs A²Λ/ε² nats, and reaches the output multiplied by c.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import cbrt, sqrt
from typing import NamedTuple

from keyhole.bounds.derivation import Inputs, Lemma, Step
from keyhole.bounds.validate import Real, norm, positive

RULE_1 = Lemma("Rule 1", "C = (Σ_j (c_j A_j √Λ_j)^{2/3})³")
RULE_2 = Lemma("Rule 2", "C = (Σ_h √C_h)²")


class Term(NamedTuple):
    """One covered part: weight c, scale A, nats Λ, the lemma behind them, and the exact size of its cover."""

    name: str
    lemma: Lemma
    weight: float
    scale: float
    nats: float
    inputs: Inputs
    size: Callable[[float], float]  # log N at this part's own accuracy; never above (A/ε)² Λ
    parts: tuple[Step, ...] = ()

    @property
    def root(self) -> float:
        """The share of the term in the cube root of C."""
        return cbrt((self.weight * self.scale) ** 2 * self.nats)


@dataclass(frozen=True)
class Cover:
    """An ∞-norm cover of a class: log N(ε) ≤ C/ε² on every sample, as the list of terms that gives C."""

    terms: tuple[Term, ...]

    def __add__(self, other: "Cover") -> "Cover":
        """Two sources of error at one output: their terms in one list."""
        return Cover(self.terms + other.terms)

    def through(self, lipschitz: Real) -> "Cover":
        """The class followed by an L-Lipschitz map.

        Statement  If g is L-Lipschitz, a cover of F at accuracy ε/L gives one of g∘F at accuracy ε.
        Proof      |g(f) − g(f̂)| ≤ L |f − f̂|. Projections on a convex set have L = 1.
        Source     Textbook.
        """
        factor = norm("a Lipschitz constant", lipschitz)
        return Cover(tuple([term._replace(weight=term.weight * factor) for term in self.terms]))

    @property
    def capacity(self) -> float:
        """The C of Rule 1, each part of a sum of errors being given the accuracy that suits it best.

        Statement  Parts with cost A_j²Λ_j/ε_j² and total error Σ c_j ε_j = ε have log N ≤ C/ε² with
                   C = (Σ_j (c_j A_j √Λ_j)^{2/3})³.
        Proof      Lagrange: the best split has ε_j ∝ (A_j²Λ_j/c_j)^{1/3}; put it in.
        Equality   For that split; every other split costs more.
        Source     Ours (Rule 1).

        >>> round((plain(1, 1, 1) + plain(2, 1, 1) + plain(1, 3, 4)).capacity, 6)
        204.266569
        """
        return float(sum([term.root for term in self.terms]) ** 3)

    def split(self, accuracy: Real) -> tuple[float, ...]:
        """The accuracy each term is given, so that Σ c_j ε_j = ε at least cost."""
        epsilon = positive("the accuracy", accuracy)
        total = sum(term.root for term in self.terms)
        return tuple(epsilon * term.root / (total * term.weight) if term.root > 0 else 0.0 for term in self.terms)

    def log_size(self, accuracy: Real) -> float:
        """The size log N(ε) in whole steps, each term at its share of Rule 1; never above C/ε²."""
        parts = zip(self.terms, self.split(accuracy), strict=True)
        return float(sum([term.size(epsilon) for term, epsilon in parts if term.root > 0]))

    @property
    def step(self) -> Step:
        """C as a derivation: the share of a term is its share in the cube root of C."""
        roots = [term.root for term in self.terms]
        total = sum(roots) or 1.0
        parts = [
            Step(
                term.name,
                (term.weight * term.scale) ** 2 * term.nats,
                term.lemma,
                (("c", term.weight), ("A", term.scale), ("Λ", term.nats), *term.inputs),
                term.parts,
                root / total,
            )
            for term, root in zip(self.terms, roots, strict=True)
        ]
        return Step("capacity C", total**3 if any(roots) else 0.0, RULE_1, (), tuple(parts))


def plain(weight: Real, scale: Real, nats: Real, name: str = "a part") -> Cover:
    """A single term given as numbers, for a lemma of your own."""
    c, a, lam = norm("a weight", weight), norm("a scale", scale), norm("a number of nats", nats)
    lemma = Lemma("given", "log N ≤ A²Λ/ε²")
    return Cover((Term(name, lemma, c, a, lam, (), lambda accuracy: (a / accuracy) ** 2 * lam),))


def concatenated(covers: Iterable[Cover], name: str = "concatenated parts") -> Cover:
    """Vectors side by side, their squared errors added.

    Statement  Parts with log N_h ≤ C_h/ε_h² and Σ ε_h² = ε² have log N ≤ (Σ_h √C_h)²/ε².
    Proof      Lagrange: the best split has ε_h² ∝ √C_h; put it in.
    Equality   For that split. H equal parts cost H²; as a sum of errors they would cost H³.
    Source     Ours (Rule 2).

    >>> round(concatenated([plain(1, 1, 1), plain(1, 2, 1), plain(1, 3, 1)]).capacity, 9)
    36.0
    """
    each = tuple(covers)
    roots = [sqrt(cover.capacity) for cover in each]
    total = sum(roots)

    def size(accuracy: float) -> float:
        given = zip(each, roots, strict=True)
        sizes = [cover.log_size(accuracy * sqrt(root / total)) for cover, root in given if root > 0]
        return float(sum(sizes))

    parts = tuple(cover.step.of(root / total if total else 0.0) for cover, root in zip(each, roots, strict=True))
    return Cover((Term(name, RULE_2, 1.0, total, 1.0, (), size, parts),))


def deepened(before: Cover, lipschitz: Real, block: Cover, *, residual: bool = False) -> Cover:
    """One more layer: what came before passes through it, and its own terms are added.

    Statement  If a layer moves its output by at most L·e when its input moves by e, and by at most the
               block's own error when its weights are replaced by cover elements, then the errors add:
               e' ≤ L e + (own error); a residual connection adds e once more.
    Proof      Triangle inequality, input first, weights second.
    Source     Ours (Theorem D).

    >>> deepened(plain(1, 1, 1), 3, plain(1, 1, 1)).terms[0].weight
    3.0
    """
    return before.through(norm("a Lipschitz constant", lipschitz) + residual) + block
