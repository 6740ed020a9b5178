"""Pages, scripts and style sheets: files of the package, by their names."""

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from keyhole import __version__
from keyhole.apps.live.screens import SCREENS, Screen

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


def render(screen: Screen) -> str:
    """The page of a screen; what it shows is asked for by its script."""
    shell = _environment().from_string(_text("templates", "shell.html.j2"))
    inner = _text("templates", f"{screen.name}.html")
    return shell.render(screen=screen, screens=SCREENS, inner=inner, version=__version__)


def static_file(name: str) -> tuple[str, str] | None:
    """A script or style sheet and its type; None where there is none of that name."""
    kind = TYPES.get(name[name.rfind(".") :])
    return (_text("static", name), kind) if kind and name in _names("static") else None


@cache
def _environment() -> Environment:
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _names(folder: str) -> frozenset[str]:
    return frozenset(entry.name for entry in files("keyhole.apps.live").joinpath(folder).iterdir() if entry.is_file())


@cache
def _text(folder: str, name: str) -> str:
    return files("keyhole.apps.live").joinpath(folder, name).read_text("utf8")
