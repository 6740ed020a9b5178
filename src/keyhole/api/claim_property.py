"""A claim about words as a value: from words, from a formula of positions, restricted to the words of another one."""

import numpy as np

from keyhole.boolean import Levels, SparseFunction, check_context, read_function, tabulate
from keyhole.errors import ArgumentError, FormulaError
from keyhole.languages import FORMS, CountProperty, Property, Restricted, TableProperty, read_property


def stated_property(
    claim: str | Property, alphabet: tuple[str, ...], where: str | Property | None, *, shortest: int
) -> Property:
    """The claim as a value, restricted if that was asked."""
    stated = claim if isinstance(claim, Property) else _read(claim, alphabet, shortest)
    if stated.alphabet != alphabet:
        raise ArgumentError(f"The claim is about the symbols {', '.join(stated.alphabet)}; the alphabet has others.")
    if where is None:
        return stated
    domain = where if isinstance(where, Property) else _read(where, alphabet, shortest)
    return Restricted(stated, domain)


def _read(text: str, alphabet: tuple[str, ...], shortest: int) -> Property:
    stated = read_property(text, alphabet)
    if stated is not None:
        return stated
    try:
        function = read_function(text)
    except FormulaError as error:
        raise FormulaError(
            f"The claim {text[:80]!r} is neither a formula, such as x3 & x7 or majority:5, nor one of these, where S "
            f"is a symbol and N a number: {', '.join(FORMS)}."
        ) from error
    if len(alphabet) != 2:
        raise ArgumentError(f"The formula {text!r} is about bits, and the alphabet has {len(alphabet)} symbols.")
    check_context(function, shortest)
    counted = counted_property(function, (False, True), alphabet)
    return counted or TableProperty(alphabet, function.positions, np.asarray(tabulate(function.rule)))


def counted_property(
    function: SparseFunction, bits: tuple[bool, ...], alphabet: tuple[str, ...] | None = None
) -> CountProperty | None:
    """A function that only counts its literals, all plain or all negated, as a property; else None.

    `bits` has the bit that each symbol stands for.
    """
    rule = function.rule
    if not isinstance(rule, Levels) or len(set(rule.negated)) > 1 or not function.positions:
        return None
    kind = tuple(bit != rule.negated[0] for bit in bits)
    names = tuple(map(str, range(len(bits)))) if alphabet is None else alphabet
    return CountProperty(names, kind, "levels", positions=function.positions, levels=rule.levels)
