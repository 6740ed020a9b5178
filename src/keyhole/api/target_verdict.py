"""A trained run against its own target where that counts too many positions for a table: proved, refuted, or neither.

A function of many positions cannot be read off a model as a table of 2^s cells. A count of literals need not be: the
words with each count are bounded together, as for a claim about a checkpoint.
"""

from dataclasses import dataclass

from keyhole.api.claim_property import counted_property
from keyhole.decimals import margin
from keyhole.prover import prove_on_words
from keyhole.prover.extraction import CertifiableModel, exact_output
from keyhole.show.answer import abbreviate
from keyhole.training import Instance

NAMED = 60  # letters of the function in a sentence


@dataclass(frozen=True)
class TargetVerdict:
    """The verdict on equality of a model and the counting function that it was trained on.

    `margin` is a certified lower bound of |f| over all inputs (PROVED). A counterexample is an input whose sign of f is
    certain and wrong. `bound` is the best lower bound of sign·f (UNDECIDED).
    """

    function: str
    positions: int  # that it counts
    status: str
    margin: float | None
    counterexample: tuple[int, ...] | None
    output: float | None
    bound: float | None
    reason: str
    seconds: float

    def sentence(self, everywhere: str) -> str:
        """Return the verdict in a line."""
        what = f"the target {abbreviate(self.function, NAMED)}, which counts {self.positions} positions"
        if self.margin is not None:
            return f"PROVED equal to {what}, on {everywhere}, margin {margin(self.margin)}"
        if self.counterexample is None:
            return f"UNDECIDED against {what}: {self.reason} ({self.seconds:.1f} s)"
        return f"NOT equal to {what}: the output is {self.output:.3g} on an input that the JSON has"


def against_target(model: CertifiableModel, instance: Instance, *, time_limit: float) -> TargetVerdict | None:
    """The verdict on the hidden function of a run; None where that does not only count its literals."""
    stated = counted_property(instance.function, tuple(bool(bit) for bit in instance.letters))
    if stated is None:
        return None
    at = stated.at(instance.context)
    exact = None if model.given is None else exact_output(model.given)
    verdict = prove_on_words(
        model.tables, at.reads, at.classes, drifts=model.drifts, exact=exact, time_limit=time_limit
    )
    return TargetVerdict(
        function=str(instance.function),
        positions=len(at.reads),
        status=verdict.status,
        margin=verdict.margin,
        counterexample=None if verdict.counterexample is None else tuple(int(each) for each in verdict.counterexample),
        output=verdict.output,
        bound=verdict.bound,
        reason=verdict.reason,
        seconds=verdict.seconds,
    )
