"""Whether something is there: answered, or refused in a sentence where it may not be looked at."""

from collections.abc import Callable
from pathlib import Path

from keyhole.errors import KeyholeError


def is_there(path: Path, refusal: type[KeyholeError]) -> bool:
    """Whether a file or folder has this name; a locked folder or a name too long is refused, as the kind given."""
    return _asked(path.exists, path, refusal)


def is_folder(path: Path, refusal: type[KeyholeError]) -> bool:
    """Whether a folder has this name; what may not be looked at is refused, as the kind given."""
    return _asked(path.is_dir, path, refusal)


def _asked(question: Callable[[], bool], path: Path, refusal: type[KeyholeError]) -> bool:
    try:
        return question()
    except OSError as error:
        raise refusal(f"{str(path)!r} cannot be looked at: {error.strerror}. Choose another place.") from error
