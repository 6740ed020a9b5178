"""Constructions by name: the library's, and those that a user registers."""

from keyhole.compiler.constructions.additive import AdditiveConstruction, CodeConstruction
from keyhole.compiler.constructions.least_norm import LeastNormConstruction
from keyhole.compiler.constructions.pairs import PairConstruction
from keyhole.compiler.constructions.per_position import HeadPerPosition
from keyhole.compiler.constructions.plan import Construction, target_of
from keyhole.compiler.constructions.veto import VetoConstruction
from keyhole.errors import ArgumentError, CompileError

AUTO = "auto"  # the cheapest of those that compete
_REGISTERED: dict[str, Construction] = {}


def register_construction(construction: Construction) -> None:
    """Let `keyhole.compile` find a construction by name, and `keyhole.check` the files that it wrote.

    A name, or the name of a plan, that another construction has is refused.
    """
    others = [other for other in _REGISTERED.values() if type(other) is not type(construction)]
    taken = {AUTO} | {name for other in others for name in (other.name, *other.targets)}
    for name in (construction.name, *construction.targets):
        if name in taken or target_of(name) != name:
            raise ArgumentError(
                f"The name {name!r} of a construction is taken, or says how many distractors there are; choose another."
            )
    if not construction.targets:
        raise ArgumentError(f"The construction {construction.name!r} names no target; name the plans it makes.")
    _REGISTERED[construction.name] = construction


def registered_constructions() -> tuple[Construction, ...]:
    """Every construction that has a name: the library's first, then the user's in the order of their registration."""
    return tuple(_REGISTERED.values())


def find_construction(name: str) -> Construction:
    """The construction of that name, as `construction` of keyhole.compile takes it.

    >>> find_construction("heads").targets
    ('B′',)
    """
    if name not in _REGISTERED:
        raise CompileError(f"The construction {name!r} is unknown; choose one of {', '.join((AUTO, *_REGISTERED))}.")
    return _REGISTERED[name]


def construction_of(plan_name: str) -> Construction:
    """The construction that makes plans of that name, as a file has it: "A2", or "A2 with 3 distractors".

    >>> construction_of("B1 with codes").name, construction_of("A2 with 3 distractors").name
    ('codes', 'pair')
    """
    target = target_of(plan_name)
    for construction in _REGISTERED.values():
        if target in construction.targets:
            return construction
    raise CompileError(
        f"The construction {target!r} is not registered, so that nothing is known of what it makes; register it with "
        "register_construction, and ask again."
    )


for _construction in (
    PairConstruction(),
    AdditiveConstruction(),
    CodeConstruction(),
    HeadPerPosition(),
    VetoConstruction(),
    LeastNormConstruction(),
):
    register_construction(_construction)
