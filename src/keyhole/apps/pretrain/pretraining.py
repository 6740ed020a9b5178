"""The answer of masked pretraining: condition numbers of every mask, what heads learned, and what it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Literal

from keyhole.api.result import Result
from keyhole.decimals import at_most
from keyhole.estimate import Estimate
from keyhole.figure import Axis, Figure
from keyhole.show.answer import Show


@dataclass(frozen=True)
class Conditioning:
    """The condition numbers of one mask."""

    mask: int
    loss: str  # log loss of the block, or squared error of its mean
    downstream: float  # κ_T
    least: float  # κ
    ratio: float  # cond
    spectral: Estimate  # 1/s_m; both ends equal where it is exact


@dataclass(frozen=True)
class Learned:
    """Heads trained with one mask on sequences of one length, each on data of its own."""

    size: int
    mask: int
    bayes_loss: float
    excess: Estimate  # log loss above it, exact for each run
    likeliest: float  # the same of the maximum-likelihood estimate
    limit: float  # rank of the Fisher matrix over 2n: where n × excess tends
    unoptimised: int  # runs whose training loss is above the least that is known
    fitted_head: Estimate  # downstream excess of a head fitted to the labels
    exact_head: float  # of the theorem's head
    bound: float  # κ_T²ε²
    scratch: float  # of the network trained on the labels alone
    oracle: float  # of a head fitted on the exact posterior
    blind: float  # of the best constant


@dataclass(frozen=True)
class RecoveredSink:
    """Sink logits trained on sequences of one length."""

    size: int
    exact: float
    logit: Estimate  # the median, with a 95 % interval by order statistics
    standard_error: float  # of one logit, as n grows


@dataclass(frozen=True, repr=False)
class Pretraining(Result):
    """Condition numbers of every mask, and what trained heads learned."""

    schema: ClassVar[str] = "pretrain/1"

    model: str
    samples: int
    labels: int
    repeats: int
    seed: int
    downstream: str  # in words; empty where the latent has no finitely many values
    conditions: tuple[Conditioning, ...]
    learned: tuple[Learned, ...]
    sinks: tuple[RecoveredSink, ...]
    remarks: tuple[str, ...]

    def lines(self, show: Show) -> None:
        """Set a row for each length and mask; name the columns, and show the rest, under -v."""
        show.line(f"{self.model}: the last tokens of each sequence are masked and predicted")
        if self.repeats:
            show.line(f"{self.repeats} runs for each row, n = {self.samples:,} training sequences, seed {self.seed}")
        if self.downstream:
            show.line(f"downstream task: {self.downstream}")
        if self.learned:
            self._show_worth(show)
        elif self.conditions:
            self._show_conditions(show)
        elif self.sinks:
            self._show_sinks(show)
        if show.verbose:
            self._show_losses(show)
            for remark in self.remarks:
                show.line(remark)

    def _show_worth(self, show: Show) -> None:
        """Set what was learned beside what it is worth downstream."""
        spectral = {row.mask: row.spectral for row in self.conditions}
        columns = ("T", "mask", "1/s_m", "excess loss", "pretrained", "bound", "scratch", "exact", "nothing")
        show.table(
            dict.fromkeys(columns, ">"),
            [
                (
                    str(row.size),
                    str(row.mask),
                    _number(spectral[row.mask].value),
                    _mean(row.excess),
                    _mean(row.fitted_head),
                    at_most(row.bound) if isfinite(row.bound) else "infinite",
                    *(_number(value) for value in (row.scratch, row.oracle, row.blind)),
                )
                for row in self.learned
            ],
        )
        show.line(
            f"Excess squared error downstream, with {self.labels} labels: a linear head on the frozen predictions; the "
            "bound κ_T²ε² for a head of its own; the network trained on the labels alone (scratch); a head on the "
            "exact posterior; the best constant (nothing)."
        )

    def _show_conditions(self, show: Show) -> None:
        show.table(
            {"mask": ">", "loss": "<", "κ_T": ">", "κ": ">", "cond": ">", "1/s_m": ">"},
            [
                (
                    str(row.mask),
                    row.loss,
                    *(_number(value) for value in (row.downstream, row.least, row.ratio)),
                    _number(row.spectral.value) if row.spectral.width == 0 else format(row.spectral, ".3g"),
                )
                for row in self.conditions
            ],
        )
        if show.verbose:
            show.facts(CONDITIONS.items())

    def _show_sinks(self, show: Show) -> None:
        show.table(
            dict.fromkeys(("T", "exact logit", "trained, median", "standard error of one"), ">"),
            [
                (str(row.size), f"{row.exact:.4f}", format(row.logit, ".4f"), f"{row.standard_error:.2g}")
                for row in self.sinks
            ],
        )
        show.line("exact: the logit of the sink with which attention is the posterior mean")

    def _show_losses(self, show: Show) -> None:
        if not self.learned:
            return
        show.line()
        self._show_conditions(show)
        show.line()
        show.table(
            dict.fromkeys(("T", "mask", "Bayes", "excess", "rank/2n", "runs not optimised"), ">"),
            [
                (
                    str(row.size),
                    str(row.mask),
                    f"{row.bayes_loss:.4f}",
                    format(row.excess, ".2g"),
                    f"{row.limit:.2g}",
                    str(row.unoptimised),
                )
                for row in self.learned
            ],
        )
        show.facts(LOSSES.items())
        show.line()

    def figure(self) -> Figure:
        """Draw the excess by length, downstream excess by mask at one length, sink logits, or condition numbers."""
        if self.sinks:
            rows = [_point("T", row.size, row.logit, "trained") for row in self.sinks]
            rows += [_point("T", row.size, _exactly(row.exact), "exact") for row in self.sinks]
            title = f"Sink logits trained on {self.model}"
            return _drawn(title, rows, Axis("T", "tokens T", "log"), "logit of the sink", "linear")
        masks = Axis("mask", "masked tokens", "log")
        if not self.learned:
            rows = [_point("mask", row.mask, row.spectral, "1/s_m") for row in self.conditions]
            return _drawn(f"Condition of {self.model}", rows, masks, "1/s_m")
        if len({row.size for row in self.learned}) > 1:
            n, rows = self.samples, []
            for row in self.learned:
                low = max(n * row.excess.low, n * row.excess.value / 10)  # a band stays above 0
                scaled = Estimate(n * row.excess.value, low, n * row.excess.high)
                rows.append(_point("T", row.size, scaled, f"{row.mask} masked"))
                rows.append(_point("T", row.size, _exactly(n * row.limit), f"{row.mask} masked: limit rank/2"))
            title = f"Masked pretraining on {self.model}"
            return _drawn(title, rows, Axis("T", "tokens T", "log"), "n × excess log loss, nats")
        rows = []
        for row in self.learned:
            middle = max(row.fitted_head.value, 1e-12)
            fitted = Estimate(middle, max(row.fitted_head.low, middle / 10), row.fitted_head.high)
            rows.append(_point("mask", row.mask, fitted, "pretrained, head fitted to labels"))
            others = {
                "bound κ_T²ε²": row.bound,
                "from scratch": row.scratch,
                "exact posterior": row.oracle,
                "knowing nothing": row.blind,
            }
            rows += [
                _point("mask", row.mask, _exactly(value), name)
                for name, value in others.items()
                if isfinite(value) and value > 0
            ]
        return _drawn(f"Downstream of masked pretraining on {self.model}", rows, masks, "downstream excess risk")


CONDITIONS = {
    "mask": "the number of masked tokens",
    "κ_T": "the factor by which a root-mean-square error of the predictions can grow in the downstream task T",
    "κ": "the largest κ_T of any task of norm 1",
    "cond": "the largest over the smallest singular value of the map from latent to predictions",
    "1/s_m": "s_m is the smallest canonical correlation of masked tokens and latent",
}
LOSSES = {
    "Bayes": "the least possible log loss of the masked tokens, in nats",
    "excess": "how far trained attention heads lie above it: mean over the runs, with a 95 % interval",
    "rank/2n": "the excess of maximum likelihood for large n, by the rank of the Fisher matrix",
    "runs not optimised": "runs with a larger training loss than descent from the true parameters reaches",
}


def _number(value: float) -> str:
    return f"{value:.3g}" if isfinite(value) else "infinite"


def _mean(estimate: Estimate) -> str:
    """A mean with half the width of its interval, which is symmetric."""
    return f"{estimate.value:.2g} ± {estimate.width / 2:.1g}"


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def _point(axis: str, place: int, estimate: Estimate, name: str) -> dict[str, Any]:
    return {axis: place, "value": estimate.value, "low": estimate.low, "high": estimate.high, "what": name}


def _drawn(
    title: str, rows: Sequence[dict[str, Any]], x: Axis, y: str, scale: Literal["log", "linear"] = "log"
) -> Figure:
    return Figure(
        title=title,
        kind="lines",
        rows=tuple(rows),
        x=x,
        y=Axis("value", y, scale),
        colour=Axis("what", "", "category"),
        low="low",
        high="high",
        subtitle="means or medians with 95 % intervals",
    )
