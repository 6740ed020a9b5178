"""Step models from files of weights, by a description: a Python file that says how the tensors make a layer."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from keyhole.attention import StepModel
from keyhole.checkpoints.weight_files import WEIGHTS, open_weights
from keyhole.errors import CheckpointError, KeyholeError
from keyhole.languages import Prompt


def read_step_model(weights: Path, description: Path) -> tuple[StepModel, Prompt]:
    """Return the model that a description makes of a file of weights, and how it is shown numbers.

    The description is a Python file of the user's own, and is run: its function `describe` receives the tensors by
    name, in double precision, and returns a `StepModel` and a `Prompt`. Nothing of the file of weights is run.
    """
    if not description.is_file() or description.suffix != ".py":
        raise CheckpointError(f"{str(description)!r} is not a Python file; name one with a function `describe`.")
    tensors = {
        name: tensor.numbers()
        for name, tensor in open_weights(weights).tensors.items()
        if tensor.number_format in WEIGHTS
    }
    spec = spec_from_file_location("description", description)
    if spec is None or spec.loader is None:
        raise CheckpointError(f"{str(description)!r} cannot be run as a module; name a Python file.")
    module = module_from_spec(spec)
    try:
        with np.errstate(all="ignore"):
            spec.loader.exec_module(module)
            described = module.describe(tensors)
    except KeyholeError:
        raise
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise CheckpointError(
            f"{description.name} does not describe the tensors of {weights.name} ({words}); it needs a function "
            "`describe` that takes them by name."
        ) from error
    match described:
        case (StepModel() as model, Prompt() as prompt):
            return model, prompt
    raise CheckpointError(
        f"`describe` of {description.name} returned a {type(described).__name__}; it should return a StepModel and a "
        "Prompt."
    )
