"""The errors, drawn as a tree.

KeyholeError
├── ArgumentError     an argument of a command is not of the form it takes
├── AssumptionError   a theorem was asked about inputs it does not cover
├── CheckpointError   a file is not the model it is taken for
├── CompileError      no weights of the requested kind compute the function
├── DataError         a table or text is not what the question needs
├── FormulaError      a formula does not parse, or does not fit the context
├── MissingError      a package that the question needs is not installed
├── OutputError       a result cannot be written where it was asked to go
├── ShapeError        arrays that belong together do not fit together, or hold what is not a number
├── StoreError        the runs on disk cannot be read or added to
└── WorkerError       a process that was to make a run is gone

Each message has up to three clauses: what was asked, what is so, what to do. Misuse (ArgumentError, AssumptionError,
CompileError, DataError, FormulaError, ShapeError) is also a ValueError; a missing package is also an ImportError.
"""

import re

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""The text with what would steer a terminal, or turn the direction of writing, shown as codes.

    >>> printable("a name\x1b[2J of others")
    'a name\\x1b[2J of others'
    """
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def adding(extra: str) -> str:
    """The line that adds an extra where keyhole was cloned: its name on the package index belongs to others.

    >>> adding("train")
    "pip install -e '.[train]' in keyhole's folder"
    """
    return f"pip install -e '.[{extra}]' in keyhole's folder"


def require_whole(**numbers: object) -> None:
    """Refuse a number that is not a whole one: a text, a truth or a fraction would be read as something else.

    >>> require_whole(context=512)
    """
    for name, number in numbers.items():
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise ArgumentError(f"{number!r} was given as {name}; give a whole number.")


class KeyholeError(Exception):
    """The base of all errors: the message says what was asked, what is so, and what to do."""


class ArgumentError(KeyholeError, ValueError):
    """An argument of a command is not of the form it takes."""


class AssumptionError(KeyholeError, ValueError):
    """A theorem was asked about inputs it does not cover."""


class CheckpointError(KeyholeError):
    """A file is not the model it is taken for."""


class CompileError(KeyholeError, ValueError):
    """No weights of the requested kind compute the function."""


class DataError(KeyholeError, ValueError):
    """A table or text is not what the question needs."""


class FormulaError(KeyholeError, ValueError):
    """A formula does not parse, or does not fit the context."""


class MissingError(KeyholeError, ImportError):
    """A package that the question needs is not installed."""


class ShapeError(KeyholeError, ValueError):
    """Arrays that belong together do not fit together, or hold what is not a number."""


class OutputError(KeyholeError):
    """A result cannot be written where it was asked to go."""


class StoreError(KeyholeError):
    """The runs on disk cannot be read or added to."""


class WorkerError(KeyholeError):
    """A process that was to make a run is gone."""
