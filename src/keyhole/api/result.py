"""The form of an answer: typed fields, which JSON shows as they are, and text that reads them."""

from pathlib import Path
from typing import Any, ClassVar

from keyhole.errors import OutputError
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.files.record import record_of, to_json
from keyhole.show.answer import COLUMNS, Show, to_text


class Result:
    """An answer: a frozen dataclass with `schema`, whose fields are the keys of its JSON, and with `lines`.

    A field made with `files.record.hidden` stays out of the JSON; `properties` names properties that are in it.
    """

    schema: ClassVar[str]  # name and version of the record, such as "compile/1"
    properties: ClassVar[tuple[str, ...]] = ()
    endings: ClassVar[tuple[str, ...]] = ()  # endings of what `save` writes besides; "" stands for a folder

    def lines(self, show: Show) -> None:
        """Say the answer: at most a screen, and the rest where `show.verbose` is true."""
        raise NotImplementedError

    @property
    def answer_is_no(self) -> bool:
        """Say whether the question is answered by no; the command line then exits with code 1."""
        return False

    def figure(self) -> Figure:
        """Draw the answer."""
        raise OutputError(f"A {type(self).__name__} has no figure.")

    def record(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        record: dict[str, Any] = record_of(self)
        return record

    def to_json(self) -> str:
        """Return the record in its envelope, as the command line prints it."""
        return to_json(self.schema, self.record())

    def text(self, width: int = COLUMNS, *, verbose: bool = False, styled: bool = False) -> str:
        """Return the answer as it is printed."""
        return to_text(self._shown(verbose=verbose), width, styled=styled)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.text(150).partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        from keyhole.show.html import to_html

        return to_html(self._shown())

    def _shown(self, *, verbose: bool = False) -> Show:
        show = Show(verbose=verbose)
        self.lines(show)
        return show

    def save(self, path: str | Path) -> Path:
        """Write the answer in the format of the path's ending, and return the path.

        .json has the record and .txt the whole text; .svg, .pdf, .png, .csv and .html have the figure, if there is one.
        """
        path = Path(path)
        self.require_ending(path)
        ending = path.suffix.lower()
        if type(self).figure is not Result.figure:
            from keyhole.show.site import FORMATS, save_figure

            if ending in FORMATS:
                return save_figure(self.figure(), path)
        if ending == ".json":
            text = self.to_json()
        elif ending == ".txt":
            text = self.text(verbose=True)
        else:
            from keyhole.show.html import to_html

            text = f"<!doctype html><meta charset='utf-8'><title>keyhole</title>{to_html(self._shown(verbose=True))}"
        return write_file(path, f"{text}\n".encode())

    @classmethod
    def require_ending(cls, path: Path | None) -> None:
        """Refuse a name that says no format, before anything is computed for it."""
        if path is None:
            return
        written = [".json", ".txt", ".html", *cls.endings]
        if cls.figure is not Result.figure:
            from keyhole.show.site import FORMATS

            written = list(dict.fromkeys([*written, *FORMATS]))
        if path.suffix.lower() not in written:
            raise OutputError(f"{path.name!r} must end in {', '.join(filter(None, written))}.")
