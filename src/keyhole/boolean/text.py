"""What a person may type for a function: a formula, or a family by its name."""

import re

import numpy as np

from keyhole.boolean.families import named
from keyhole.boolean.formula import parse
from keyhole.boolean.function import SparseFunction


def read_function(text: str, seed: int = 0) -> SparseFunction:
    """The function a formula or a family name stands for; the seed draws the table of `random:s`.

    >>> read_function("and:3"), read_function("x3 | x4")
    (SparseFunction('x0 & x1 & x2'), SparseFunction('x3 | x4'))
    """
    if re.fullmatch(r"\s*[A-Za-z]+\s*:.*", text, re.DOTALL):
        return named(text.strip(), np.random.default_rng(seed))
    return parse(text)
