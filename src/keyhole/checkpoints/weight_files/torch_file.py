"""torch's own files, read by torch itself, which is asked for weights alone and runs nothing of the file."""

import warnings
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from keyhole.checkpoints.weight_files.stored_tensor import StoredTensor
from keyhole.errors import CheckpointError, MissingError, adding

STATES = ("state_dict", "model_state_dict", "model", "module", "net", "network", "weights", "encoder")


def read_torch(path: Path) -> dict[str, StoredTensor]:
    """Return the tensors of a state dict that torch.save wrote, alone or beside other things."""
    try:
        import torch  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingError(
            f"{str(path)!r} is a file of torch's, and torch is not installed; run {adding('torch')}, "
            "or save the weights with safetensors."
        ) from error
    with path.open("rb") as file:
        archive = file.read(2) == b"PK"  # older files are no archives, and are read at once
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of protocols, before the refusal
            value = torch.load(path, map_location="cpu", weights_only=True, mmap=archive)
    except UnpicklingError as error:
        raise CheckpointError(
            f"{str(path)!r} holds more than weights, so torch.load(weights_only=True) refuses it, and nothing of it "
            "was run. Save the weights alone, with safetensors or torch.save(model.state_dict(), …)."
        ) from error
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise CheckpointError(
            f"{str(path)!r} is not a whole file of torch's ({reason}); copy or save it again."
        ) from error
    state = _tensors(value[0] if isinstance(value, tuple | list) and value else value, torch.Tensor)
    if not state:
        raise CheckpointError(f"{str(path)!r} holds a {type(value).__name__} without tensors; save model.state_dict().")
    return {name: _stored(name, tensor) for name, tensor in state.items()}


def _tensors(value: Any, kind: type) -> dict[str, Any]:
    """Return the tensors of a state dict: of an entry under one of the usual names, or of the dictionary itself."""
    if not isinstance(value, dict):
        return {}
    for inner in (*(value.get(name) for name in STATES), value):
        if isinstance(inner, dict):
            state = {name: each for name, each in inner.items() if isinstance(name, str) and isinstance(each, kind)}
            if state:
                return state
    return {}


def _stored(name: str, tensor: Any) -> StoredTensor:
    number_format = str(tensor.dtype).removeprefix("torch.")

    def raw() -> np.ndarray:
        import torch  # noqa: PLC0415  (an extra)

        numbers = tensor.detach().contiguous()
        if number_format == "bfloat16":  # which numpy lacks
            return np.asarray(numbers.view(torch.int16).numpy()).view(np.uint16)
        return np.asarray(numbers.numpy())

    return StoredTensor(name, tuple(tensor.shape), number_format, raw)
