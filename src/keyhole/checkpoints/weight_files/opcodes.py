"""A reader of pickles that runs nothing: it knows some opcodes and some names, and refuses all others.

A pickle is a program for a stack machine. Python's own machine calls whatever function the program names, so that a
file can do anything. This machine calls nothing: a name outside `KNOWN` ends the reading, and the few that weights
need stand for plain values (a storage, a tensor over it, a dictionary).
"""

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from mmap import mmap
from typing import IO, Any, cast

from keyhole.errors import CheckpointError

STORAGES: Mapping[str, str] = {  # class of torch → number format
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
MOST_STEPS = 20_000_000  # opcodes; a state dict takes a few dozen per tensor
MARK = object()
Stream = BufferedIOBase | mmap  # either reads, and knows its place


class UnreadableError(Exception):
    """What the program asks is not among what weights need."""


@dataclass(frozen=True)
class Name:
    """A name that a pickle may use, and what calling it stands for."""

    title: str
    call: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Storage:
    """A run of numbers in the file, by its key; a view begins `start` numbers in."""

    key: str
    number_format: str
    length: int
    start: int = 0


@dataclass(frozen=True)
class TensorView:
    """A tensor as a pickle has it: which numbers of which storage, in which order."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> TensorView:
    """What rebuilding a tensor stands for; what comes after (gradients, hooks, metadata) is left out."""
    sides = (shape, strides)
    whole = all(isinstance(each, tuple) and all(type(side) is int and side >= 0 for side in each) for each in sides)
    if not isinstance(storage, Storage) or type(offset) is not int or offset < 0 or not whole:
        raise UnreadableError("it makes a tensor of something else than a storage, an offset, sides and strides")
    if len(shape) != len(strides) or len(shape) > 32:
        raise UnreadableError(f"it makes a tensor with {len(shape)} sides and {len(strides)} strides")
    return TensorView(storage, offset, shape, strides)


def _first(value: Any = None, *_: Any) -> Any:
    return value


def _dictionary(pairs: Any = ()) -> dict[Any, Any]:
    """An OrderedDict of pairs, which older Pythons wrote as a list."""
    if not isinstance(pairs, list | tuple) or any(
        not isinstance(pair, list | tuple) or len(pair) != 2 for pair in pairs
    ):
        raise UnreadableError("it makes a dictionary of something else than pairs")
    return {_key(key): value for key, value in pairs}


KNOWN: Mapping[str, Name] = {
    name.title: name
    for name in (
        Name("collections.OrderedDict", _dictionary),
        Name("torch._utils._rebuild_tensor", _tensor),
        Name("torch._utils._rebuild_tensor_v2", _tensor),
        Name("torch._utils._rebuild_parameter", _first),
        Name("torch._utils._rebuild_parameter_with_state", _first),
        Name("torch.Size", _first),
        Name("torch.device", _first),
        *(Name(f"torch.{storage}") for storage in STORAGES),
        *(Name(f"torch.{dtype}") for dtype in DTYPES),
    )
}


def read_pickle(stream: Stream, where: str, *, storages: bool = True) -> Any:
    """The value that the pickle at the stream's place stands for; the stream is left at its end.

    Lists, dictionaries, numbers and text are themselves; tensors are views of storages.
    """
    try:
        return _Machine(stream, storages=storages).run()
    except UnreadableError as error:
        raise CheckpointError(
            f"{where} is a pickle that is not only weights: {error}. Nothing of it was run. Save the weights alone, "
            "with safetensors or torch.save(model.state_dict(), …)."
        ) from error
    except (ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError, RecursionError) as error:
        # pickletools tells of every malformed argument by one of these
        raise CheckpointError(f"{where} is not a whole pickle of weights ({error}); copy or save it again.") from error


class _Machine:
    """The stack, the memo, and a method per opcode."""

    def __init__(self, stream: Stream, *, storages: bool) -> None:
        self.stream, self.storages = stream, storages
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        for step, (opcode, argument, _) in enumerate(pickletools.genops(cast("IO[bytes]", self.stream))):
            if opcode.name == "STOP":
                (value,) = self.stack
                return value
            if step > MOST_STEPS:
                raise UnreadableError(f"it takes more than {MOST_STEPS:,} steps")
            action = ACTIONS.get(opcode.name)
            if action is None:
                raise UnreadableError(f"it has the opcode {opcode.name}, which weights do not need")
            action(self, argument)
        raise ValueError("it does not end")

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is MARK:
            raise ValueError("a mark stands where a value is needed")
        return value

    def since_mark(self) -> list[Any]:
        values: list[Any] = []
        while (value := self.stack.pop()) is not MARK:
            values.append(value)
        return values[::-1]

    def tuple_of(self, count: int) -> None:
        self.push(tuple([self.pop() for _ in range(count)][::-1]))

    def name(self, title: str) -> None:
        known = KNOWN.get(title)
        if known is None:
            raise UnreadableError(f"it names {title[:80]}, which weights do not need")
        self.push(known)

    def stack_name(self) -> None:
        title, module = self.pop(), self.pop()
        if not isinstance(title, str) or not isinstance(module, str):
            raise UnreadableError("it names something that is no text")
        self.name(f"{module}.{title}")

    def call(self) -> None:
        arguments, name = self.pop(), self.pop()
        if not isinstance(name, Name) or name.call is None or not isinstance(arguments, tuple):
            raise UnreadableError("it calls something that weights do not need")
        self.push(name.call(*arguments))

    def build(self) -> None:
        """Attributes of a dictionary, such as a state dict's _metadata, are left out; nothing else has any."""
        self.pop()
        if not isinstance(self.stack[-1], dict):
            raise UnreadableError("it gives attributes to something else than a dictionary")

    def set_items(self, values: list[Any]) -> None:
        if len(values) % 2 or not isinstance(self.stack[-1], dict):
            raise ValueError("entries without a dictionary, or a key without its entry")
        for key, value in zip(values[::2], values[1::2], strict=True):
            self.stack[-1][_key(key)] = value

    def append(self, values: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError("items without a list")
        self.stack[-1].extend(values)

    def keep(self, place: int) -> None:
        if self.stack[-1] is MARK:
            raise ValueError("a mark is kept")
        self.memo[place] = self.stack[-1]

    def storage(self) -> None:
        """A persistent id: ('storage', class, key, device, length), and for older files what view it is."""
        reference = self.pop()
        if (
            not self.storages
            or not isinstance(reference, tuple)
            or len(reference) not in (5, 6)
            or reference[0] != "storage"
        ):
            raise UnreadableError("it points at something else than a storage")
        kind, key, length, view = (
            reference[1],
            reference[2],
            reference[4],
            reference[5] if len(reference) == 6 else None,
        )
        kind = kind.title.removeprefix("torch.") if isinstance(kind, Name) else kind
        if kind not in STORAGES or not isinstance(key, str) or type(length) is not int or length < 0:
            raise UnreadableError(f"it points at a storage of {str(kind)[:40]} numbers, which is not read")
        start = 0
        if view is not None:
            if not isinstance(view, tuple) or len(view) != 3 or type(view[1]) is not int or view[1] < 0:
                raise UnreadableError("it points at a view of a storage that is not read")
            start = view[1]
        self.push(Storage(key, STORAGES[kind], length, start))


def _key(key: Any) -> Any:
    if not isinstance(key, str | int | float | bool | None):  # a tuple may be nested too deep to hash
        raise UnreadableError(f"it has a {type(key).__name__} for a key")
    return key


Action = Callable[[_Machine, Any], None]
_push: Action = lambda machine, argument: machine.push(argument)  # noqa: E731
_nothing: Action = lambda _machine, _argument: None  # noqa: E731
ACTIONS: Mapping[str, Action] = {
    "PROTO": _nothing,
    "FRAME": _nothing,
    "MARK": lambda machine, _: machine.push(MARK),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),  # noqa: FBT003
    "NEWFALSE": lambda machine, _: machine.push(False),  # noqa: FBT003
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"), _push),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "SETITEM": lambda machine, _: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    "APPEND": lambda machine, _: machine.append([machine.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine.since_mark()),
    "BINPUT": lambda machine, place: machine.keep(place),
    "LONG_BINPUT": lambda machine, place: machine.keep(place),
    "MEMOIZE": lambda machine, _: machine.keep(len(machine.memo)),
    "BINGET": lambda machine, place: machine.push(machine.memo[place]),
    "LONG_BINGET": lambda machine, place: machine.push(machine.memo[place]),
    "GLOBAL": lambda machine, title: machine.name(title.replace(" ", ".", 1)),
    "STACK_GLOBAL": lambda machine, _: machine.stack_name(),
    "BINPERSID": lambda machine, _: machine.storage(),
    "REDUCE": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.build(),
}
