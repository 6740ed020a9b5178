"""Models whose heads are read: any checkpoint, and a function that keyhole compiled, by the layer it exports."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.apps.heads.packages import packaged_folder
from keyhole.checkpoints import Checkpoint, is_tabulated, load_checkpoint
from keyhole.compiler import lens_config, lens_state, load_undamaged, to_residual, token_ids
from keyhole.errors import CheckpointError, DataError
from keyhole.files.model import is_ours, read_model
from keyhole.files.reading import parse_array, parse_arrays, parse_json, read_bytes, read_text

Source = str | Path | Mapping[str, Any] | Checkpoint


def open_checkpoint(
    source: Source,
    *,
    config: str | Path | Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Open a local checkpoint, a packaged model by its name, or a compiled function as the layer of its export.

    A compiled function becomes one residual block, under TransformerLens' names; [CLS] is its last row. A
    checkpoint that is open stays as it is.
    """
    if isinstance(source, Checkpoint):
        return source
    settings: Any = config
    if isinstance(config, str | Path):
        try:
            settings = parse_json(read_text(Path(config)))
        except (OSError, ValueError) as error:
            raise DataError(f"The settings {str(config)!r} cannot be read ({error}); give a JSON object.") from error
        if not isinstance(settings, dict):
            raise DataError(f"The settings {str(config)!r} are not a JSON object; give names and values.")
    if isinstance(source, Mapping) or not is_ours(Path(source)):
        packaged = None if isinstance(source, Mapping) else packaged_folder(source)
        return load_checkpoint(packaged or source, config=settings)
    block = _compiled(Path(source))
    return replace(load_checkpoint(lens_state(block), config=lens_config(block)), source=str(source))


def tokens_of_bits(source: str, bits: np.ndarray) -> np.ndarray | None:
    """Return the tokens, [CLS] last, of inputs (n, T) of a compiled function; None for any other model."""
    if not is_ours(Path(source)):
        return None
    block = _compiled(Path(source))
    if bits.ndim != 2 or bits.shape[1] != block.context or not np.isin(bits, (0, 1)).all():
        raise DataError(
            f"Inputs of shape {bits.shape} were given; the compiled function reads bits (inputs, {block.context})."
        )
    return token_ids(block, bits)


def _compiled(path: Path) -> Any:
    stored = read_model(path)
    if is_tabulated(stored):
        raise CheckpointError(
            f"{str(path)!r} holds the tables of a trained model, which have no matrices of queries and keys; "
            f"`keyhole prove {path}` says what it computes."
        )
    return to_residual(load_undamaged(stored, path))


def array_of(given: str | Path | np.ndarray | None, name: str) -> np.ndarray:
    """Return an array as it was given, or read from a .npy, or by its name from an .npz."""
    if isinstance(given, np.ndarray):
        return given
    path = Path(str(given))
    try:
        content = read_bytes(path)
        return parse_arrays(content, (name,))[0] if content.startswith(b"PK") else parse_array(content)
    except OSError as error:
        raise DataError(f"The {name} {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise DataError(f"{str(path)!r} holds no {name} ({error}); write them with numpy.save.") from error
