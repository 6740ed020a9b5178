"""Settings with a name."""

from keyhole.errors import ArgumentError
from keyhole.lab.transformer import Transformer

PRESETS: dict[str, Transformer] = {
    "default": Transformer(),
}


def preset(name: str) -> Transformer:
    """The settings of this name."""
    if name not in PRESETS:
        raise ArgumentError(f"There is no preset {name!r}; there are {', '.join(PRESETS)}.")
    return PRESETS[name]
