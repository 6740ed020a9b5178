"""What do a checkpoint's heads do on data? Every head's spread, range and sinks, a verdict each, beside controls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.api.opening import open_checkpoint
from keyhole.apps.heads.annotation import word_maps
from keyhole.apps.heads.controls import CONTROLS, Control, controlled
from keyhole.apps.heads.head_data import HeadData, head_data, require_one_kind, text_data
from keyhole.apps.heads.head_statistics import RULE, USE, VERDICTS, HeadUse, head_use
from keyhole.apps.heads.show_heads import heads_document
from keyhole.apps.heads.transformers_maps import REDRAWN, OutsideCheckpoint, outside_model, redrawn
from keyhole.checkpoints import Architecture, Checkpoint, Prepared, Runs, filled, prepare
from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure, Row
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document

COUNTING = "layers and heads count from 0 in arrays and JSON, from 1 in text and figures; layer-head is written 3-7"
LONGEST_DRAWN = 1024  # tokens of a map that is shown
MOST_CELLS = 128  # along each side of a drawing; longer inputs are drawn in blocks of neighbouring rows


@dataclass(frozen=True, eq=False)
class HeadMap:
    """One head's attention on one input, by the spellings of its rows."""

    layer: int
    head: int
    rows: tuple[str, ...]
    weights: np.ndarray  # (T, T): row t is what t attends to
    grid: tuple[int, int] | None = None  # of an image: its patches down and across, which are the last rows


@dataclass(frozen=True, repr=False, eq=False)
class Heads(Result):
    """What every head of a checkpoint does on data, beside the same model with shuffled and with random weights."""

    schema: ClassVar[str] = "heads/1"
    has_figure: ClassVar[bool] = True

    checkpoint: Checkpoint | OutsideCheckpoint
    data: str  # what the inputs were
    sinks: str  # which rows count as sinks
    queries: str
    lengths: tuple[int, int]  # the shortest and the longest input, in rows
    use: HeadUse
    controls: Mapping[str, HeadUse]
    statistic: str  # that the figure shows
    seed: int
    shown: HeadMap | None = None
    controls_are: Mapping[str, str] = field(
        default_factory=lambda: {str(name): what for name, what in CONTROLS.items()}
    )

    @property
    def summary(self) -> str:
        """How many heads have each verdict."""
        counts = verdict_counts(self.use)
        counted = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        return f"{sum(counts.values())} heads of {self.checkpoint.source} on {self.data}: {counted}"

    def document(self) -> Document:
        """The model and the data, counts of verdicts beside the controls, a row per head, the rule."""
        return heads_document(self.record())

    def figure(self) -> Figure:
        """Layers × heads coloured by the statistic; where one head was asked for, its attention on one input."""
        return self._grid() if self.shown is None else self._map(self.shown)

    def _grid(self) -> Figure:
        verdicts = self.use.verdicts()
        rows: list[Row] = []
        for kind, use in (("trained", self.use), *self.controls.items()):
            values = use.mean(self.statistic, sinks=False)
            for layer, head in np.ndindex(values.shape):
                value = float(values[layer, head])
                rows.append(
                    {
                        "layer": str(layer + 1),
                        "head": str(head + 1) if kind == "trained" else f"{kind} {head + 1}",
                        "weights": kind,
                        self.statistic: None if np.isnan(value) else value,
                        "verdict": verdicts[layer][head][0] if kind == "trained" else "",
                    }
                )
        return Figure(
            title=f"{USE[self.statistic]}, sinks taken out, head by head",
            subtitle=f"{self.data}; layers and heads count from 1",
            kind="heatmap",
            rows=tuple(rows),
            x=Axis("head", "head", "category"),
            y=Axis("layer", "layer", "category"),
            colour=Axis(self.statistic, USE[self.statistic]),
        )

    def _map(self, shown: HeadMap) -> Figure:
        names = [f"{number} {name}" for number, name in enumerate(shown.rows, 1)]
        each = -(-len(names) // MOST_CELLS)
        weights = shown.weights
        subtitle = "each row's weights have the sum 1; layers, heads and rows count from 1"
        if each > 1:
            weights = word_maps(weights[None], np.arange(len(names)) // each)[0]
            names = [f"{name} …" for name in names[::each]]
            subtitle += f"; blocks of {each} rows, summed over those attended to, averaged over those that attend"
        rows: list[Row] = [
            {"from": names[at], "to": names[to], "weight": float(weights[at, to])}
            for at in range(len(names))
            for to in range(len(names))
        ]
        return Figure(
            title=f"attention of head {shown.layer + 1}-{shown.head + 1}",
            subtitle=subtitle,
            kind="heatmap",
            rows=tuple(rows),
            x=Axis("to", "attends to", "category"),
            y=Axis("from", "row", "category"),
            colour=Axis("weight", "weight"),
        )

    def record(self) -> dict[str, Any]:
        """Every head with every statistic, both ways, and the controls, as plain values."""
        verdicts = self.use.verdicts()
        sizes = self.checkpoint.sizes
        tables, controls = _tables(self.use), {name: _tables(use) for name, use in self.controls.items()}
        return {
            "source": self.checkpoint.source,
            "architecture": self.checkpoint.architecture,
            "sizes": asdict(sizes),
            "counting": COUNTING,
            "data": self.data,
            "inputs": int(self.use.kept.shape[0]),
            "rows": list(self.lengths),
            "sinks": self.sinks,
            "queries": self.queries,
            "statistics": dict(USE),
            "rule": RULE,
            "heads": [
                {
                    "layer": layer,
                    "head": head,
                    "verdict": verdicts[layer][head][0],
                    "verdict_without_sinks": verdicts[layer][head][1],
                    **_numbers(tables, layer, head),
                    "controls": {name: _numbers(each, layer, head) for name, each in controls.items()},
                }
                for layer in range(sizes.layers)
                for head in range(sizes.heads)
            ],
            "counts": {name: verdict_counts(use) for name, use in (("trained", self.use), *self.controls.items())},
            "control_is": {name: self.controls_are[name] for name in self.controls},
            "seed": self.seed,
            "map": None
            if self.shown is None
            else {**asdict(self.shown), "rows": list(self.shown.rows), "weights": self.shown.weights.tolist()},
        }


def verdict_counts(use: HeadUse) -> dict[str, int]:
    """How many heads have each verdict."""
    verdicts = [verdict for row in use.verdicts() for verdict, _ in row]
    return {name: verdicts.count(name) for name in VERDICTS}


Table = Mapping[str, Mapping[str, np.ndarray]]


def _tables(use: HeadUse) -> Table:
    """Each statistic's mean, 5 % and 95 % quantile over inputs, (layers, heads, 3), with sinks and without."""
    return {
        key: {name: np.stack([use.mean(name, sinks=sinks), *use.spread(name, sinks=sinks)], axis=-1) for name in USE}
        for key, sinks in (("with_sinks", True), ("without_sinks", False))
    }


def _numbers(tables: Table, layer: int, head: int) -> dict[str, dict[str, list[float | None]]]:
    """One head's numbers; None where no input has one."""
    return {
        key: {
            name: [None if np.isnan(each) else float(each) for each in table[layer, head]]
            for name, table in named.items()
        }
        for key, named in tables.items()
    }


def heads(
    source: str | Path | Mapping[str, Any],
    *,
    text: str | Path | Sequence[str] | None = None,
    images: str | Path | np.ndarray | None = None,
    rows: str | Path | np.ndarray | None = None,
    architecture: Architecture | str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    longest: int = 128,
    queries: str = "all",
    statistic: str = "entropy",
    head: tuple[int, int] | None = None,
    line: int = 1,
    controls: bool = True,
    seed: int = 0,
    through: str = "keyhole",
    watch: Watch = ignore,
) -> Heads:
    """What every head of a checkpoint does on text, on images, or on rows of numbers.

    `text` is a file with a text on every line, or a list of texts; longer ones are cut into inputs of at most `longest`
    tokens. `images` is a folder of pictures or .npy files, or an array (n, channels, height, width) or (n, height,
    width), as .npy or as `images` of an .npz: real numbers scaled as the model was trained, or pixels from 0 to 255
    where a preprocessor_config.json beside the weights, or `config`, has image_mean and image_std. `rows` is an array
    (n, T, features), such as points of the plane, or tokens (n, T), as .npy or as `rows` of an .npz; of a function that
    keyhole compiled, bits (n, T). Text is a sequence, and rows are one where the model has positions; patches of an
    image are none.
    Sinks are the tokens that the tokenizer adds, the [CLS] row of an image, and the first row of a causal model. With
    queries="first" only the first row is looked at, as where a model is read at [CLS]. `head` (layer and head, from 0)
    adds its attention on input number `line`, from 1. `config` has settings that no file beside the weights says, or is
    a JSON file of them. The maps are our own forward pass's, in single precision; with through="transformers" that
    package runs a local folder's model on text, for architectures that ours does not know, beside one control.
    """
    require_one_kind(text=text, images=images, rows=rows)
    if statistic not in USE:
        raise ArgumentError(f"The statistic {statistic!r} was asked for; there are {', '.join(USE)}.")
    if queries not in ("all", "first"):
        raise ArgumentError(f"The queries {queries!r} were asked for; they are all or first.")
    model, controlling = _opened(source, through, text, architecture, config)
    checkpoint = model.checkpoint
    if head is not None and not (0 <= head[0] < checkpoint.sizes.layers and 0 <= head[1] < checkpoint.sizes.heads):
        raise ArgumentError(
            f"Head {head[0] + 1}-{head[1] + 1} was asked for, and there are {checkpoint.sizes.layers} layers of "
            f"{checkpoint.sizes.heads} heads, counted from 1."
        )
    if isinstance(model, Prepared):
        data = head_data(model, source, text=text, images=images, rows=rows, longest=longest)
    else:
        data = text_data(model, [] if text is None else text, longest)
    data = data.first_alone() if queries == "first" else data
    if head is not None:
        _require_drawable(data, line)
    names = list(controlling) if controls else []
    of = len(data.lengths) * (1 + len(names))
    use = head_use(model, data.lengths, data.give, ordered=data.ordered, watch=part_of(watch, "trained", 0, of))
    statistics = {}
    for number, name in enumerate(names, 1):
        view = part_of(watch, name, number * len(data.lengths), of)
        run = controlling[name][1](seed)
        statistics[name] = head_use(run, data.lengths, data.give, ordered=data.ordered, watch=view)
    return Heads(
        checkpoint=checkpoint,
        data=data.what,
        sinks=data.sinks,
        queries="every row" if queries == "all" else "the first row alone",
        lengths=(min(data.lengths), max(data.lengths)),
        use=use,
        controls=statistics,
        statistic=statistic,
        seed=seed,
        shown=None if head is None else _shown(model, data, head, line),
        controls_are={name: what for name, (what, _) in controlling.items()},
    )


Controlling = dict[str, tuple[str, Callable[[int], Runs]]]  # a control's name → what it is, and the model for a seed


def _opened(
    source: str | Path | Mapping[str, Any],
    through: str,
    text: object,
    architecture: Architecture | str | None,
    config: str | Path | Mapping[str, Any] | None,
) -> tuple[Runs, Controlling]:
    """The model by the forward pass that is asked for, and its controls."""
    if through == "transformers":
        if text is None or architecture is not None or config is not None or isinstance(source, Mapping):
            raise ArgumentError("transformers runs a folder's own model on text; give these two, and no settings.")
        outside = outside_model(source)
        return outside, {"random": (REDRAWN, lambda seed: redrawn(outside, seed))}
    if through != "keyhole":
        raise ArgumentError(f"The forward pass of {through!r} was asked for; there are keyhole's and transformers'.")
    model = prepare(open_checkpoint(source, architecture=architecture, config=config), single=True)

    def made(name: Control) -> Callable[[int], Runs]:
        return lambda seed: controlled(model, name, seed)

    return model, {name: (what, made(name)) for name, what in CONTROLS.items()}


def part_of(watch: Watch, name: str, before: int, of: int) -> Watch:
    """A watcher of one of several passes: `before` steps were done when it begins, `of` are all."""

    def told(step: Progress) -> None:
        watch(Progress(before + step.done, of, f"{name}: {step.what}"))

    return told


def _require_drawable(data: HeadData, line: int) -> None:
    """Refuse a map of an input that is not there, or is too long to be drawn, before anything is run."""
    if not 1 <= line <= len(data.lengths):
        raise ArgumentError(f"Input {line} was to be drawn, and there are {len(data.lengths)}, counted from 1.")
    if data.lengths[line - 1] > LONGEST_DRAWN:
        raise ArgumentError(
            f"Input {line} has {data.lengths[line - 1]} rows, and maps of up to {LONGEST_DRAWN} are drawn."
        )


def _shown(model: Runs, data: HeadData, head: tuple[int, int], line: int) -> HeadMap:
    kept: list[np.ndarray] = []

    def look(layer: int, maps: np.ndarray) -> None:
        if layer == head[0]:
            kept.append(maps[0, head[1]].astype(np.float64))

    rows, visible = filled([data.give(line - 1).rows])
    model.run(rows, visible, look)
    return HeadMap(head[0], head[1], data.spell(line - 1), kept[0], data.grid)
