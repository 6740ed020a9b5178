"""What every answer of the public functions can do: display itself, become a record, be saved."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from keyhole.errors import OutputError
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.files.record import to_json
from keyhole.show.document import Document
from keyhole.show.html import to_html
from keyhole.show.site import FORMATS, save_figure
from keyhole.show.text import to_text

LONGEST = 150  # letters of a summary in one line


class OldResult(ABC):
    """An answer. `record()` has plain values, as `--json` prints them; `document()` has what is shown."""

    schema: ClassVar[str]  # name and version of the record, such as "compile/1"
    has_figure: ClassVar[bool] = False  # whether there is a figure

    @property
    @abstractmethod
    def summary(self) -> str:
        """The answer in one line."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Every field as plain values."""

    @abstractmethod
    def document(self) -> Document:
        """The facts and tables that a person is shown."""

    @property
    def answer_is_no(self) -> bool:
        """Say whether the question is answered by no."""
        return False

    def text(self, width: int, *, verbose: bool = False, styled: bool = False) -> str:  # noqa: ARG002
        """Return the answer as it is printed."""
        return to_text(self.document(), width, styled=styled)

    def figure(self) -> Figure:
        """What can be drawn of it."""
        raise OutputError(f"A {type(self).__name__} has no figure.")

    def to_json(self) -> str:
        """The record in its envelope, as the command line prints it."""
        return to_json(self.schema, self.record())

    def __repr__(self) -> str:
        line = " ".join(self.summary.split())
        return f"<{type(self).__name__}: {line if len(line) <= LONGEST else f'{line[: LONGEST - 1]}…'}>"

    def __str__(self) -> str:
        return to_text(self.document())

    def _repr_html_(self) -> str:
        return to_html(self.document())

    def save(self, path: str | Path) -> Path:
        """Write the answer in the format of the path's ending, and return the path.

        .json has the record, .txt the answer as it is shown. Where there is a figure, .svg, .pdf, .png, .csv and .html
        have it; where there is none, .html has what is shown.
        """
        path = Path(path)
        self.require_ending(path)
        ending = path.suffix.lower()
        if self.has_figure and ending in FORMATS:
            return save_figure(self.figure(), path)
        text = {".json": self.to_json, ".txt": self.__str__, ".html": self._page}[ending]()
        return write_file(path, f"{text}\n".encode())

    @classmethod
    def require_ending(cls, path: Path) -> None:
        """Refuse a name that says no format, before anything is computed for it."""
        endings = list(dict.fromkeys([".json", ".txt", ".html", *(FORMATS if cls.has_figure else ())]))
        if path.suffix.lower() not in endings:
            raise OutputError(
                f"The answer was to be written as {path.name!r}; its name must end in {', '.join(endings)}."
            )

    def _page(self) -> str:
        return f"<!doctype html><meta charset='utf-8'><title>keyhole</title>{self._repr_html_()}"
