"""Inputs on which heads are measured: text, images, rows of numbers, or tokens, made when they are run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.apps.heads.head_statistics import Given
from keyhole.apps.heads.images import patches, read_images
from keyhole.apps.heads.model_source import array_of, tokens_of_bits
from keyhole.apps.heads.texts import Pieces, TextReader, text_reader
from keyhole.apps.heads.transformers_maps import Runs
from keyhole.checkpoints import Checkpoint, Prepared, Sizes
from keyhole.errors import ArgumentError, DataError
from keyhole.files.reading import parse_json, read_text

MOST_PATCHES = 2**14  # of an image: every head weighs each against each


@dataclass(frozen=True, eq=False)
class HeadData:
    """Inputs by number: what they are, which rows are sinks, how long each is, its rows and their spellings."""

    what: str
    sinks: str
    lengths: Sequence[int]
    give: Callable[[int], Given]
    spell: Callable[[int], tuple[str, ...]]
    ordered: bool  # whether rows are a sequence
    grid: tuple[int, int] | None = None  # of an image: its patches down and across, which are the last rows

    def first_alone(self) -> "HeadData":
        """Return the same inputs with the first row as the only query."""

        def give(index: int) -> Given:
            given = self.give(index)
            return Given(given.rows, given.sinks, np.arange(len(given.sinks)) == 0)

        return replace(self, give=give)


@dataclass(frozen=True, eq=False)
class Text:
    """A file with a text on every line, or a list of texts; longer ones are cut into inputs of `longest` tokens."""

    lines: str | Path | Sequence[str]
    longest: int = 128


@dataclass(frozen=True, eq=False)
class Images:
    """A folder of pictures or .npy files, or an array (n, channels, height, width) or (n, height, width).

    The array may be a .npy, or `images` of an .npz. Real numbers are scaled as the model was trained; pixels from 0 to
    255 need image_mean and image_std, in a preprocessor_config.json beside the weights or in the settings.
    """

    place: str | Path | np.ndarray


@dataclass(frozen=True, eq=False)
class Rows:
    """An array (n, T, features), such as points of the plane, or tokens (n, T); of a compiled function, bits (n, T).

    The array may be a .npy, or `rows` of an .npz.
    """

    array: str | Path | np.ndarray


Data = Text | Images | Rows


def data_of(text: Path | None, images: Path | None, rows: Path | None) -> Data:
    """Return the data of the one kind that is named; refuse none, and several."""
    named = {"--text": text, "--images": images, "--rows": rows}
    given = [name for name, place in named.items() if place is not None]
    if len(given) != 1:
        raise ArgumentError(
            f"Give the data of exactly one kind by {' or '.join(named)}; got {', '.join(given) or 'none'}."
        )
    if text is not None:
        return Text(text)
    return Images(images) if images is not None else Rows(rows or "")


def require_head(head: tuple[int, int] | None, sizes: Sizes) -> None:
    """Refuse a head, by layer and number from 0, that the model lacks."""
    if head is not None and not (0 <= head[0] < sizes.layers and 0 <= head[1] < sizes.heads):
        raise ArgumentError(
            f"Head {head[0] + 1}-{head[1] + 1} was asked for, and there are {sizes.layers} layers of {sizes.heads} "
            "heads, counted from 1."
        )


def head_data(model: Runs, data: Data) -> HeadData:
    """Return the inputs that the data are to a model.

    The sinks of a text are the tokens that the tokenizer adds, and the first row of a causal model.
    """
    if isinstance(data, Text):
        inputs, reader, name = text_pieces(model, data)
        first = bool(model.checkpoint.causal)

        def give(index: int) -> Given:
            sinks = inputs[index].added.copy()
            sinks[0] |= first
            return Given(model.embed(inputs[index].tokens), sinks)

        added = bool(reader.before or reader.after)
        sinks = [*(["tokens the tokenizer adds"] if added else []), *(["the first row"] if first else [])]
        return HeadData(
            f"{len(inputs)} inputs of {name}",
            " and ".join(sinks) or "none",
            [len(each) for each in inputs],
            give,
            lambda index: inputs[index].spelled,
            ordered=True,
        )
    if not isinstance(model, Prepared):
        raise ArgumentError("transformers runs a model on text alone; give text.")
    if isinstance(data, Images):
        rows, grid = image_rows(model, data)
        return replace(_features(model, rows, f"{len(rows)} images", ordered=False), grid=grid)
    array = array_of(data.array, "rows")
    if array.ndim == 2 and array.size and array.dtype.kind in "iub":
        bits = tokens_of_bits(model.checkpoint.source, array)
        return _tokens(model, array if bits is None else bits, last=bits is not None)
    if array.ndim != 3 or not array.size or array.dtype.kind not in "fiu":
        raise DataError(
            f"Rows of shape {array.shape} and kind {array.dtype} were given; give numbers (inputs, T, features), or "
            "tokens (inputs, T) as whole numbers."
        )
    ordered = model.checkpoint.positions.kind != "none"
    return _features(model, array.astype(np.float64), f"{len(array)} inputs of {array.shape[1]} rows", ordered=ordered)


def text_pieces(model: Runs, text: Text) -> tuple[list[Pieces], TextReader, str]:
    """Return the texts as inputs of at most so many tokens, their reader, and their name."""
    if isinstance(text.lines, str | Path):
        try:
            lines = read_text(Path(text.lines)).splitlines()
        except OSError as error:
            raise DataError(f"The text {str(text.lines)!r} cannot be read: {error.strerror or error}.") from error
        name = Path(text.lines).name
    else:
        lines, name = list(text.lines), "the texts"
    reader = text_reader(model.checkpoint.source)
    table = model.checkpoint.embedding.positions
    room = text.longest if table is None else min(text.longest, len(table) - model.checkpoint.embedding.offset)
    inputs: list[Pieces] = [each for line in lines if line.strip() for each in reader.line(line, room)]
    if not inputs:
        raise DataError(f"{name} has no text; write a text on every line.")
    return inputs, reader, name


def reads_images(checkpoint: Checkpoint) -> bool:
    """Return whether a model reads patches of one or three channels."""
    features = checkpoint.embedding.features
    return checkpoint.embedding.tokens is None and features is not None and _channels(features.inputs) > 0


def _channels(numbers: int) -> int:
    """Return the channels of a square patch of so many numbers, one or three, or 0."""
    return next((n for n in (1, 3) if numbers >= n and isqrt(numbers // n) ** 2 * n == numbers), 0)


def image_rows(model: Prepared, images: Images) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the patches of images, (n, count, numbers), and how many there are down and across."""
    features = model.checkpoint.embedding.features
    if features is None:
        raise DataError(f"Images were given, and {model.checkpoint.source} reads none.")
    scaling = _image_settings(model)
    if not isinstance(images.place, np.ndarray) and Path(images.place).is_dir():
        size = scaling.get("size", scaling.get("image_size"))
        sides: Any = (size.get("height"), size.get("width")) if isinstance(size, Mapping) else (size, size)
        known = all(type(side) is int and 0 < side <= 8192 for side in sides)
        resample = scaling.get("resample")
        array = read_images(
            Path(images.place),
            _channels(features.inputs),
            sides if known else None,
            resample if type(resample) is int else 2,
        )
    else:
        array = array_of(images.place, "images")
    array = array[:, None] if array.ndim == 3 else array
    if array.ndim != 4 or not len(array) or array.dtype.kind not in "fiu":
        raise DataError(
            f"Images of shape {array.shape} were given; {model.checkpoint.source} reads (n, channels, height, width)."
        )
    side = isqrt(features.inputs // array.shape[1])
    if side * side * array.shape[1] != features.inputs:
        raise DataError(
            f"The model reads {features.inputs} numbers of each patch, which are not squares of {array.shape[1]} "
            "channels; give images with the channels that it was trained on."
        )
    grid = array.shape[2] // side, array.shape[3] // side
    if grid[0] * grid[1] > MOST_PATCHES:
        raise DataError(
            f"An image of {array.shape[2]} × {array.shape[3]} is {grid[0] * grid[1]:,} patches, and at most "
            f"{MOST_PATCHES:,} are read; make it smaller, or say the model's image_size in its settings."
        )
    scaled = array if array.dtype.kind == "f" else _scaled(array, scaling)
    return np.asarray(patches(scaled, side)), grid


def _image_settings(model: Prepared) -> Mapping[str, Any]:
    """Return how images are scaled: the model's settings, over a preprocessor_config.json beside the weights."""
    beside = Path(model.checkpoint.source)
    beside = (beside if beside.is_dir() else beside.parent) / "preprocessor_config.json"
    settings: Any = {}
    if beside.is_file():
        try:
            settings = parse_json(read_text(beside))
        except (OSError, ValueError) as error:
            raise DataError(f"{str(beside)!r} cannot be read ({error}); fetch it again.") from error
    return {**(settings if isinstance(settings, dict) else {}), **model.checkpoint.config}


def _scaled(pixels: np.ndarray, scaling: Mapping[str, Any]) -> np.ndarray:
    """Scale pixels from 0 to 255 as in training: a share of 255, minus image_mean, over image_std."""
    parts = []
    for name in ("image_mean", "image_std"):
        stated = scaling.get(name)
        values = stated if isinstance(stated, list) else [stated]
        if not all(type(value) in (int, float) for value in values) or len(values) not in (1, pixels.shape[1]):
            raise DataError(
                "Images of whole numbers were given, and no file says how the model's are scaled; give image_mean and "
                "image_std (of pixels divided by 255) in a JSON file of settings, or give scaled numbers."
            )
        parts.append(np.array(values, dtype=float).reshape(-1, 1, 1))
    if pixels.min() < 0 or pixels.max() > 255 or not (parts[1] > 0).all():
        raise DataError(
            f"Pixels from {pixels.min()} to {pixels.max()} were given with image_std {parts[1].ravel().tolist()}; "
            "pixels lie from 0 to 255, and deviations above 0."
        )
    return np.asarray((pixels / 255.0 - parts[0]) / parts[1])


def _tokens(model: Prepared, tokens: np.ndarray, *, last: bool) -> HeadData:
    """Return inputs of tokens; the sink is the last row, [CLS], or the first row of a causal model."""
    sinks = np.zeros(tokens.shape[1], dtype=bool)
    if last:
        sinks[-1] = True
    elif model.checkpoint.causal:
        sinks[0] = True
    return HeadData(
        f"{len(tokens)} inputs of {tokens.shape[1]} tokens",
        "the last row ([CLS])" if last else "the first row" if model.checkpoint.causal else "none",
        [tokens.shape[1]] * len(tokens),
        lambda index: Given(model.embed(tokens[index]), sinks),
        lambda index: tuple(map(str, tokens[index])),
        ordered=model.checkpoint.positions.kind != "none",
    )


def _features(model: Prepared, rows: np.ndarray, what: str, *, ordered: bool) -> HeadData:
    before = model.checkpoint.embedding.cls
    added = 0 if before is None else len(before)
    sinks = np.zeros(added + rows.shape[1], dtype=bool)
    sinks[:added] = True
    names = (*("[CLS]" for _ in range(added)), *(f"row {number}" for number in range(1, rows.shape[1] + 1)))
    return HeadData(
        what,
        "the rows that stand before every input ([CLS])" if added else "none",
        [len(sinks)] * len(rows),
        lambda index: Given(model.embed_features(rows[index]), sinks),
        lambda _: names,
        ordered=ordered,
    )
