"""What masked pretraining came to: condition numbers of every mask, what heads learned, and what it is worth."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, ClassVar

from keyhole.api.old_result import OldResult as Result
from keyhole.apps.pretrain.show_pretraining import pretraining_document
from keyhole.estimate import Estimate
from keyhole.figure import Axis, Figure
from keyhole.show.document import Document


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
    """The answer: condition numbers of every mask, and what trained heads learned."""

    schema: ClassVar[str] = "pretrain/1"
    has_figure: ClassVar[bool] = True

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

    @property
    def summary(self) -> str:
        """The model, and what was trained how often."""
        what = (
            f"{len(self.learned) + len(self.sinks)} settings of {self.repeats} runs"
            if self.repeats
            else "nothing trained"
        )
        return f"pretraining on {self.model}: {what}, n = {self.samples}"

    def document(self) -> Document:
        """Condition numbers, then what was learned."""
        return pretraining_document(self.record())

    def record(self) -> dict[str, Any]:
        """The answer as plain values; what is infinite is None."""
        plain = {
            "model": self.model,
            "samples": self.samples,
            "labels": self.labels,
            "repeats": self.repeats,
            "seed": self.seed,
            "downstream": self.downstream,
            "conditions": [asdict(row) for row in self.conditions],
            "learned": [asdict(row) for row in self.learned],
            "sinks": [asdict(row) for row in self.sinks],
            "remarks": list(self.remarks),
        }
        return dict(_finite(plain))

    def figure(self) -> Figure:
        """Excess log loss by length; downstream excess by mask at one length; sink logits; or condition numbers."""
        if self.sinks:
            rows = [
                {
                    "T": row.size,
                    "logit": row.logit.value,
                    "low": row.logit.low,
                    "high": row.logit.high,
                    "what": "trained",
                }
                for row in self.sinks
            ]
            rows += [
                {"T": row.size, "logit": row.exact, "low": row.exact, "high": row.exact, "what": "exact"}
                for row in self.sinks
            ]
            return _lines(
                f"Sink logits trained on {self.model}",
                rows,
                "T",
                "tokens T",
                "logit",
                "logit of the sink",
                "what",
                scale="linear",
            )
        if not self.learned:
            rows = [
                {
                    "mask": row.mask,
                    "value": row.spectral.value,
                    "low": row.spectral.low,
                    "high": row.spectral.high,
                    "what": "1/s_m",
                }
                for row in self.conditions
            ]
            return _lines(f"Condition of {self.model}", rows, "mask", "masked tokens", "value", "1/s_m", "what")
        if len({row.size for row in self.learned}) > 1:
            rows = [
                {
                    "T": row.size,
                    "excess": self.samples * row.excess.value,
                    "low": max(self.samples * row.excess.low, self.samples * row.excess.value / 10),
                    "high": self.samples * row.excess.high,
                    "mask": f"{row.mask} masked",
                }
                for row in self.learned
            ]
            limits = {(row.size, row.mask): self.samples * row.limit for row in self.learned}
            rows += [
                {"T": size, "excess": limit, "low": limit, "high": limit, "mask": f"{mask} masked: limit rank/2"}
                for (size, mask), limit in limits.items()
            ]
            return _lines(
                f"Masked pretraining on {self.model}",
                rows,
                "T",
                "tokens T",
                "excess",
                "n × excess log loss, nats",
                "mask",
            )
        rows = []
        for row in self.learned:
            middle = max(row.fitted_head.value, 1e-12)
            low = max(row.fitted_head.low, middle / 10)
            rows.append(
                {
                    "mask": row.mask,
                    "excess": middle,
                    "low": low,
                    "high": row.fitted_head.high,
                    "what": "pretrained, head fitted to labels",
                }
            )
            rows += [
                {"mask": row.mask, "excess": value, "low": value, "high": value, "what": name}
                for name, value in (
                    ("bound κ_T²ε²", row.bound),
                    ("from scratch", row.scratch),
                    ("exact posterior", row.oracle),
                    ("knowing nothing", row.blind),
                )
                if isfinite(value) and value > 0
            ]
        return _lines(
            f"Downstream of masked pretraining on {self.model}",
            rows,
            "mask",
            "masked tokens",
            "excess",
            "downstream excess risk",
            "what",
        )


def _lines(
    title: str,
    rows: Sequence[dict[str, Any]],
    x: str,
    x_title: str,
    y: str,
    y_title: str,
    colour: str,
    *,
    scale: Any = "log",
) -> Figure:
    return Figure(
        title=title,
        kind="lines",
        rows=tuple(rows),
        x=Axis(x, x_title, "log"),
        y=Axis(y, y_title, scale),
        colour=Axis(colour, "", "category"),
        low="low",
        high="high",
        subtitle="means or medians with 95 % intervals",
    )


def _finite(value: Any) -> Any:
    """Plain values, with None for what is not finite."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
