"""Where the nodes of a tree stand on paper: one line each, children under their parent and further in."""

from dataclasses import dataclass
from typing import Any

from keyhole.errors import AssumptionError


@dataclass(frozen=True)
class Placed:
    """A node's place: its depth, its line counted downwards as negative numbers, its parent's index."""

    depth: int
    line: int
    parent: int | None


def lay_out(nodes: list[tuple[Any, Any]]) -> list[Placed]:
    """The places of (name, parent's name) pairs, in their order; the root's parent is None.

    >>> [(place.depth, place.line) for place in lay_out([("a", None), ("b", "a"), ("c", "a"), ("d", "b")])]
    [(0, 0), (1, -1), (1, -3), (2, -2)]
    """
    index = {name: i for i, (name, _) in enumerate(nodes)}
    children: dict[Any, list[int]] = {}
    for i, (_, parent) in enumerate(nodes):
        children.setdefault(parent, []).append(i)
    placed: dict[int, Placed] = {}
    waiting = [(i, 0) for i in reversed(children.get(None, []))]
    while waiting:
        i, depth = waiting.pop()
        name, parent = nodes[i]
        placed[i] = Placed(depth, -len(placed), index.get(parent) if parent is not None else None)
        waiting.extend((child, depth + 1) for child in reversed(children.get(name, [])))
    if len(placed) != len(nodes):
        lost = next(name for i, (name, _) in enumerate(nodes) if i not in placed)
        raise AssumptionError(f"The tree's node {lost!r} hangs on nothing; give it a parent that leads to a root.")
    return [placed[i] for i in range(len(nodes))]
