"""Many functions joined into one: by operators, by counting how many are true, by looking their values up."""

from collections.abc import Callable

import numpy as np

from keyhole.boolean.function import SparseFunction, from_levels, from_table, spread
from keyhole.boolean.rules import MAX_LEVELS, MAX_TABLE, Levels, Values
from keyhole.errors import FormulaError

Operation = Callable[[SparseFunction, SparseFunction], SparseFunction]
OPERATIONS: dict[str, Operation] = {
    "&": SparseFunction.__and__,
    "^": SparseFunction.__xor__,
    "|": SparseFunction.__or__,
}


def join(operands: list[SparseFunction], operators: list[str], binding: str = "|^&") -> SparseFunction:
    """Operands and the operators between them, the loosest operator taken apart first."""
    if not operators:
        return operands[0]
    loosest, groups, start = binding[0], [], 0
    for stop in [*(i + 1 for i, sign in enumerate(operators) if sign == loosest), len(operands)]:
        groups.append(join(operands[start:stop], operators[start : stop - 1], binding[1:]))
        start = stop
    return balanced(OPERATIONS[loosest], groups)


def balanced(operation: Operation, functions: list[SparseFunction]) -> SparseFunction:
    """An associative operation over many functions, in a tree of logarithmic depth."""
    while len(functions) > 1:
        pairs = [operation(*functions[i : i + 2]) for i in range(0, len(functions) - 1, 2)]
        functions = pairs + functions[2 * len(pairs) :]
    return functions[0]


def count(arguments: list[SparseFunction], levels: tuple[bool, ...]) -> SparseFunction:
    """The function whose value depends on how many arguments are true."""
    places = _distinct_variables(arguments)
    if places is not None and len(places) <= MAX_LEVELS:
        return from_levels(places, levels, tuple(_negative(argument) for argument in arguments))
    return _composed(arguments, lambda tables: np.asarray(np.array(levels)[np.sum(tables, axis=0, dtype=np.int64)]))


def look_up(arguments: list[SparseFunction], values: Values) -> SparseFunction:
    """The function whose value is looked up in a table by its arguments."""
    places = _distinct_variables(arguments)
    if places is not None and not any(map(_negative, arguments)):
        return from_table(places, values)

    def rule(tables: list[Values]) -> Values:
        patterns = np.zeros(tables[0].shape, dtype=np.int64)
        for weight, row in enumerate(tables):
            patterns += row.astype(np.int64) << weight
        return np.asarray(values[patterns])

    return _composed(arguments, rule)


def _distinct_variables(arguments: list[SparseFunction]) -> tuple[int, ...] | None:
    """The arguments' positions where each argument is a literal of its own position, else None."""
    places = tuple(argument.positions[0] for argument in arguments if argument.sparsity == 1)
    return places if len(set(places)) == len(arguments) else None


def _negative(argument: SparseFunction) -> bool:
    """Return True if a function of one position is a negated literal."""
    return isinstance(argument.rule, Levels) and argument.rule.levels[0]


def _composed(arguments: list[SparseFunction], rule: Callable[[list[Values]], Values]) -> SparseFunction:
    """A rule applied to the tables of its arguments over all their positions."""
    places = tuple(sorted({place for argument in arguments for place in argument.positions}))
    if len(places) > MAX_TABLE:
        raise FormulaError(
            f"A function of formulas on {len(places)} positions was asked for; it needs a table, which holds at most "
            f"{MAX_TABLE}. Use fewer positions, or distinct variables as arguments."
        )
    return from_table(places, rule([spread(argument, places) for argument in arguments]))
