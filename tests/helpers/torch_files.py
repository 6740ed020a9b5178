"""Files as torch.save writes them, made without torch: pickles put together opcode by opcode."""

import struct
import zipfile

import numpy as np

STORAGES = {"float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "int64": "LongStorage"}


def text(word):
    """A piece of text."""
    raw = word.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value):
    """A whole number."""
    return b"J" + struct.pack("<i", value)


def numbers(values):
    """A tuple of whole numbers."""
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(key, array, *, shape=None, strides=None, offset=0, length=None, older=False):
    """A call of _rebuild_tensor_v2 on a storage; any of its arguments may be made wrong."""
    shape = array.shape if shape is None else shape
    strides = tuple(stride // array.itemsize for stride in array.strides) if strides is None else strides
    storage = b"(" + text("storage") + f"ctorch\n{STORAGES[array.dtype.name]}\n".encode() + text(key) + text("cpu")
    storage += number(array.size if length is None else length) + (b"N" if older else b"") + b"tQ"
    call = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + numbers(shape) + numbers(strides)
    return call + b"\x89" + b"ccollections\nOrderedDict\n)R" + b"tR"


def state(entries):
    """A dictionary of pickled entries, as an OrderedDict with attributes."""
    body = b"".join(text(name) + value for name, value in entries.items())
    return b"ccollections\nOrderedDict\n)R(" + body + b"u}" + text("_metadata") + b"}sb"


def pickled(program):
    """A program as a whole pickle."""
    return b"\x80\x02" + program + b"."


def zip_file(path, program, storages, *, compression=zipfile.ZIP_STORED, byteorder=b"little"):
    """An archive with a pickle and its storages."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", pickled(program))
        archive.writestr("archive/byteorder", byteorder)
        for key, array in storages.items():
            archive.writestr(f"archive/data/{key}", array if isinstance(array, bytes) else array.tobytes())
    return path


def older_file(path, program, storages):
    """A file of the kind that came before archives."""
    magic = b"\x8a\x0a" + (0x1950A86A20F9469CFC6C).to_bytes(10, "little")
    system = b"}" + text("little_endian") + b"\x88s"
    keys = b"](" + b"".join(map(text, storages)) + b"e"
    content = b"".join(map(pickled, (magic, number(1001), system, program, keys)))
    content += b"".join(struct.pack("<q", array.size) + array.tobytes() for array in storages.values())
    path.write_bytes(content)
    return path


def heads_of(seed=0, heads=2, width=6, k=3):
    """Arrays of one layer under TransformerLens' names."""
    rng = np.random.default_rng(seed)
    shapes = dict.fromkeys("QKV", (heads, width, k)) | {"O": (heads, k, width)}
    return {f"blocks.0.attn.W_{name}": rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def state_of(arrays, *, older=False):
    """The program of a state dict of arrays, and its storages."""
    keys = {name: str(index) for index, name in enumerate(arrays)}
    entries = {name: tensor(keys[name], array, older=older) for name, array in arrays.items()}
    return state(entries), {keys[name]: array for name, array in arrays.items()}
