"""An answer as a text file."""

from pathlib import Path

from keyhole.errors import OutputError


def write_text(path: Path, text: str) -> None:
    """Write the text with a final line break, or say in one sentence why that cannot be."""
    try:
        path.write_text(text + "\n", "utf8")
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}. Choose another place."
        ) from error
