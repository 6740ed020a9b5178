"""What every answer of the public functions can do: display itself, become a record, be saved."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from keyhole.errors import OutputError
from keyhole.files.atomic import write_file
from keyhole.files.record import to_json
from keyhole.show.document import Document
from keyhole.show.html import to_html
from keyhole.show.text import to_text


class Result(ABC):
    """An answer. `record()` has plain values, as `--json` prints them; `document()` has what is shown."""

    schema: ClassVar[str]  # name and version of the record, such as "compile/1"

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Every field as plain values."""

    @abstractmethod
    def document(self) -> Document:
        """The facts and tables that a person is shown."""

    def to_json(self) -> str:
        """The record in its envelope, as the command line prints it."""
        return to_json(self.schema, self.record())

    def __str__(self) -> str:
        return to_text(self.document())

    def _repr_html_(self) -> str:
        return to_html(self.document())

    def save(self, path: str | Path) -> Path:
        """Write the answer: .json (the record), .txt (as it is shown) or .html."""
        path = Path(path)
        writers = {".json": self.to_json, ".txt": self.__str__, ".html": self._repr_html_}
        if path.suffix.lower() not in writers:
            raise OutputError(f"{str(path)!r} ends in none of {', '.join(writers)}; use one of them.")
        return write_file(path, f"{writers[path.suffix.lower()]()}\n".encode())
