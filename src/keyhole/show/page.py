"""A page of one file: its style, its scripts and its data stand inside."""

import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from keyhole import __version__

STATIC = files("keyhole.show").joinpath("static")
SCRIPTS = "elements.js", "draw.js", "exact.js", "head.js"  # each imports from those before it
IMPORT = re.compile(r'^import \{.*\} from ".*";\n', re.MULTILINE)


def head_page(title: str, lead: str, claim: Mapping[str, Any], weights: Mapping[str, Any]) -> str:
    """Return the page of a compiled head, which proves its claim of its weights where it is opened."""
    return Template(_read("head.html")).substitute(
        title=escape(title),
        lead=escape(lead),
        style=_read("lab.css"),
        claim=_data(claim),
        weights=_data(weights),
        script="\n".join(IMPORT.sub("", _read(name)) for name in SCRIPTS),
        version=__version__,
    )


def _read(name: str) -> str:
    return STATIC.joinpath(name).read_text("utf8")


def _data(value: Mapping[str, Any]) -> str:
    """Return compact JSON that cannot end the script around it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
