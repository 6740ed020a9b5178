"""The sides of a model's matrices: heads and widths from them, and a refusal where they do not fit together."""

from collections.abc import Mapping
from math import prod

from keyhole.checkpoints.architectures.placing import Place, Placed, whole_number
from keyhole.checkpoints.architectures.settings import stored_layers
from keyhole.checkpoints.checkpoint import Sizes
from keyhole.checkpoints.weight_files import StoredTensor
from keyhole.errors import CheckpointError


def sizes_of(placed: Placed) -> Sizes:
    """Heads and widths, from the configuration and the sides of the first layer's matrices."""
    how, config, first = placed.architecture, placed.files.config, placed.layers[0]
    output = first["output"].weight
    if how.layout == "per head":
        query, key, value = (first[role].weight for role in ("query", "key", "value"))
        for tensor in (query, key, value, output):
            if len(tensor.shape) != 3:
                raise CheckpointError(
                    f"{tensor.name} has shape {tensor.shape}, where (heads, rows, columns) was expected."
                )
        heads, width, k = query.shape
        return Sizes(len(stored_layers(placed)), heads, key.shape[0], width, k, value.shape[2])
    heads_told = whole_number(config, how.heads)
    if heads_told is None:
        raise CheckpointError(
            f"{placed.files.source!r} does not say how many heads it has, and matrices do not show it; give the number "
            f"of heads, here or as {how.heads[0]} in a config.json beside the weights."
        )
    flip = how.layout == "conv1d"
    if len(output.shape) != 2:
        raise CheckpointError(f"{output.name} has shape {output.shape}, where a matrix was expected.")
    width = output.shape[1 if flip else 0]
    if "qkv" in first:
        packed = first["qkv"].weight
        rows = _rows(packed, width, flip=flip)
        sides = (rows // 3, rows // 3, rows // 3) if rows % 3 == 0 else (0, 0, 0)
    else:
        sides = tuple(_rows(first[role].weight, width, flip=flip) for role in ("query", "key", "value"))  # type: ignore[assignment]
    groups = whole_number(config, how.key_value_heads) or (heads_told if sides[0] == sides[1] else None)
    k = sides[0] // heads_told
    groups = groups or (sides[1] // k if k else 0)
    fits = k and groups and (sides[0], sides[1]) == (heads_told * k, groups * k) and heads_told % groups == 0
    if not fits or sides[2] % groups or output.shape[0 if flip else 1] != heads_told * (sides[2] // groups):
        raise CheckpointError(
            f"{placed.files.source!r}: queries, keys and values have {sides[0]}, {sides[1]} and {sides[2]} columns and "
            f"the output reads {output.shape[0 if flip else 1]}, which {heads_told} heads with {groups or '?'} keys "
            "and values do not share evenly; correct the number of heads."
        )
    stated = config.get("head_dim")
    if type(stated) is int and stated != k:
        raise CheckpointError(
            f"{placed.files.source!r}: head_dim is {stated}, and each head has {k} rows; fetch it again."
        )
    return Sizes(len(stored_layers(placed)), heads_told, groups, width, k, sides[2] // groups)


def _rows(tensor: StoredTensor, width: int, *, flip: bool) -> int:
    """The outputs of a matrix that reads rows of the model's width."""
    if len(tensor.shape) != 2 or tensor.shape[0 if flip else 1] != width:
        raise CheckpointError(f"{tensor.name} has shape {tensor.shape}, and the model's rows have {width} entries.")
    return tensor.shape[1 if flip else 0]


def require_sides(placed: Placed, sizes: Sizes) -> None:
    """Refuse tensors whose sides do not fit together, before any number is read."""
    how = placed.architecture
    inside = {"query": (sizes.heads, sizes.head_width), "output": (sizes.heads, sizes.value_width)}
    inside |= {
        "key": (sizes.key_value_heads, sizes.head_width),
        "value": (sizes.key_value_heads, sizes.value_width),
    }
    for places in placed.layers:
        for role, place in places.items():
            if role in inside:
                heads, k = inside[role]
                shape = {
                    "linear": (heads * k, sizes.width),
                    "conv1d": (sizes.width, heads * k),
                    "per head": (heads, sizes.width, k),
                }[how.layout]
                if role == "output":
                    shape = (heads, k, sizes.width) if how.layout == "per head" else shape[::-1]
                _require(place.weight, shape)
                _require_size(place.bias, sizes.width if role == "output" else heads * k)
            elif role == "qkv":
                rows = 3 * sizes.heads * sizes.head_width
                _require(place.weight, (sizes.width, rows) if how.layout == "conv1d" else (rows, sizes.width))
                _require_size(place.bias, rows)
            elif role in ("query_norm", "key_norm"):
                _require(place.weight, (sizes.head_width,))
            elif role.endswith("norm"):
                for each in place.all:
                    _require(each, (sizes.width,))
        _require_feedforward(placed, sizes, places)
    _require_model_sides(placed, sizes)


def _require_feedforward(placed: Placed, sizes: Sizes, places: Mapping[str, Place]) -> None:
    present = [role for role in ("inner", "gate", "outer") if role in places]
    if not present:
        return
    if not {"inner", "outer"} <= set(present):
        raise CheckpointError(f"{placed.files.source!r} has half of a feed-forward part; fetch it again.")
    flat = (placed.architecture.feedforward_layout or placed.architecture.layout) == "linear"
    inner = places["inner"].weight
    if len(inner.shape) != 2:
        raise CheckpointError(f"{inner.name} has shape {inner.shape}, where a matrix was expected.")
    units = inner.shape[0 if flat else 1]
    for role in present:
        shape = (units, sizes.width) if role != "outer" else (sizes.width, units)
        _require(places[role].weight, shape if flat else shape[::-1])
        _require_size(places[role].bias, sizes.width if role == "outer" else units)


def _require_model_sides(placed: Placed, sizes: Sizes) -> None:
    model, width = placed.model, sizes.width
    narrow = width
    if "widen" in model:
        weight = model["widen"].weight
        narrow = weight.shape[-1] if len(weight.shape) == 2 else 0
        _require(weight, (width, narrow))
        _require_size(model["widen"].bias, width)
    for role in ("tokens", "positions", "segments"):
        if role in model and (not model[role].weight.shape or model[role].weight.shape[-1] != narrow):
            tensor = model[role].weight
            raise CheckpointError(
                f"{tensor.name} has shape {tensor.shape}, and rows of {narrow} entries were expected."
            )
    if "final_norm" in model:
        _require(model["final_norm"].weight, (width,))
    if "embedding_norm" in model:
        _require(model["embedding_norm"].weight, (narrow,))
    if "unembedding" in model:
        tensor = model["unembedding"].weight
        reads = 0 if placed.architecture.layout == "per head" else 1
        if len(tensor.shape) != 2 or tensor.shape[reads] != width:
            raise CheckpointError(f"{tensor.name} has shape {tensor.shape}, and the model's rows have {width} entries.")


def _require(tensor: StoredTensor, shape: tuple[int, ...]) -> None:
    if tensor.shape != shape:
        raise CheckpointError(f"{tensor.name} has shape {tensor.shape}, where {shape} fits the rest; fetch it again.")


def _require_size(tensor: StoredTensor | None, size: int) -> None:
    if tensor is not None and prod(tensor.shape) != size:
        raise CheckpointError(
            f"{tensor.name} has shape {tensor.shape}, where {size} numbers fit the rest; fetch it again."
        )
