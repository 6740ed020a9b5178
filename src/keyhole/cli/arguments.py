"""How arguments are spelled: whole numbers, with powers of ten for long ones."""

import re

from keyhole.errors import ArgumentError


def count(text: str) -> int:
    """A whole number, written out or as in 1e9.

    >>> count("1e9"), count("64")
    (1000000000, 64)
    """
    if re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        return int(text)
    found = re.fullmatch(r"([0-9]{1,9})e\+?([0-9]{1,2})", text)
    if found is None:
        raise ArgumentError(f"{text!r} is not a whole number; write it out, or as in 1e9.")
    return int(found[1] + "0" * int(found[2]))
