"""A compiled function as a file: a model with its certificate, or a module of PyTorch."""

from pathlib import Path

from keyhole.compiler.compiled import Compiled
from keyhole.compiler.export.stored import dense_matrices, description_of, tables
from keyhole.compiler.export.torch_source import write_torch
from keyhole.errors import OutputError
from keyhole.files.model import write_model


def save_model(compiled: Compiled, path: Path) -> Path:
    """Write what the file's ending asks for: .safetensors (what `keyhole.check` reads) or .py (a torch module).

    The first holds tables, dense matrices where they fit, and the description with the certificate.
    """
    ending = path.suffix.lower()
    if ending == ".py":
        return write_torch(compiled.plan, compiled.proof, path)
    if ending != ".safetensors":
        raise OutputError(f"{str(path)!r} ends in none of .safetensors and .py; use one of them.")
    return write_model(path, tables(compiled.plan) | dense_matrices(compiled.plan), description_of(compiled))
