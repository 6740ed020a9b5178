"""The matrices of each head, from tensors that hold all heads: fused, packed, grouped, or one head after another."""

from collections.abc import Mapping

import numpy as np

from keyhole.checkpoints.architectures.architecture import Architecture
from keyhole.checkpoints.architectures.placing import Place, Placed
from keyhole.checkpoints.architectures.settings import scale_of
from keyhole.checkpoints.checkpoint import AttentionHead, Sizes
from keyhole.checkpoints.weight_files import StoredTensor


def read_heads(placed: Placed, sizes: Sizes, places: Mapping[str, Place]) -> tuple[AttentionHead, ...]:
    """Each head's matrices, and where keys and values are shared its group's."""
    how = placed.architecture
    roles: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    if "qkv" in places:
        weight, bias = _matrix(how, places["qkv"].weight), vector(places["qkv"].bias)
        for which, role in enumerate(("query", "key", "value")):
            columns = _packed(how, sizes, weight.shape[1], which)
            roles[role] = (weight[:, columns], None if bias is None else bias[columns])
    else:
        for role in ("query", "key", "value"):
            roles[role] = (_matrix(how, places[role].weight), vector(places[role].bias))
    query = _split(roles["query"][0], sizes.heads)
    key, value = (_split(roles[role][0], sizes.key_value_heads) for role in ("key", "value"))
    output = _outputs(how, sizes, places["output"].weight)
    scale = scale_of(placed, sizes.head_width)

    def slice_of(role: str, group: int, width: int) -> np.ndarray | None:
        bias = roles[role][1]
        return None if bias is None else bias[group * width : (group + 1) * width]

    found = []
    for head in range(sizes.heads):
        group = head * sizes.key_value_heads // sizes.heads
        found.append(
            AttentionHead(
                query=query[head],
                key=key[group],
                value=value[group],
                output=output[head],
                query_bias=slice_of("query", head, sizes.head_width),
                key_bias=slice_of("key", group, sizes.head_width),
                value_bias=slice_of("value", group, sizes.value_width),
                scale=scale,
            )
        )
    return tuple(found)


def vector(tensor: StoredTensor | None) -> np.ndarray | None:
    """The numbers of a bias or a gain in one row; None where there is none."""
    return None if tensor is None else tensor.numbers().reshape(-1)


def _matrix(how: Architecture, tensor: StoredTensor) -> np.ndarray:
    """A map of attention as it acts: (inputs, outputs), the heads side by side."""
    numbers = tensor.numbers()
    if how.layout == "per head":  # (heads, d, k)
        return numbers.transpose(1, 0, 2).reshape(numbers.shape[1], -1)
    return numbers if how.layout == "conv1d" else numbers.T


def _packed(how: Architecture, sizes: Sizes, columns: int, which: int) -> np.ndarray:
    """The columns of queries (0), keys (1) or values (2) in a packed matrix."""
    every = np.arange(columns)
    if how.packing == "thirds":
        return every[which * columns // 3 : (which + 1) * columns // 3]
    return every.reshape(sizes.heads, 3, sizes.head_width)[:, which].reshape(-1)


def _split(matrix: np.ndarray, heads: int) -> np.ndarray:
    """A matrix with heads side by side as one matrix per head: (heads, d, k)."""
    return np.ascontiguousarray(matrix.reshape(matrix.shape[0], heads, -1).transpose(1, 0, 2))


def _outputs(how: Architecture, sizes: Sizes, tensor: StoredTensor) -> np.ndarray:
    """The output matrix as one matrix per head: (heads, v, d)."""
    numbers = tensor.numbers()
    if how.layout == "linear":
        numbers = numbers.T
    return np.ascontiguousarray(numbers.reshape(sizes.heads, sizes.value_width, -1))
