"""Images on disk, a folder of .npy arrays or of .png and .jpg files, which the package Pillow reads; and patches."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import DataError, MissingError, adding
from keyhole.files.reading import parse_array, read_bytes

ENDINGS = (".npy", ".png", ".jpg", ".jpeg")
MOST_PIXELS = 2**26  # of one image: a small file may state huge sides
STARTS = {b"\x93NUMPY": ".npy", b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg"}  # of a file → its ending


def image_ending(content: bytes, most_pixels: int = MOST_PIXELS) -> str:
    """Return the ending for a file with this content: .npy, .png or .jpg; refuse what cannot be read as one of them.

    The content decides, and no name. A picture is decoded to its end, so that one that is cut off is refused.
    """
    ending = next((ending for start, ending in STARTS.items() if content.startswith(start)), None)
    if ending is None:
        raise DataError("The image is not a PNG, a JPEG or an array that numpy.save wrote; save it as one of these.")
    if ending != ".npy":
        _decoded(BytesIO(content), "The image", "RGB", most_pixels)
        return ending
    try:
        array = parse_array(content)
    except ValueError as error:
        raise DataError(f"The image holds no array ({error}); write it with numpy.save.") from error
    if array.ndim not in (2, 3) or array.dtype.kind not in "fiu" or not 0 < array.size <= 3 * most_pixels:
        raise DataError(
            f"The image has shape {array.shape} and kind {array.dtype}; it takes numbers (height, width) or "
            f"(channels, height, width), at most {most_pixels:,} pixels."
        )
    return ending


def read_images(folder: Path, channels: int, size: tuple[int, int] | None = None, resample: int = 2) -> np.ndarray:
    """Read the images of a folder by name, (n, channels, height, width), all of one shape.

    Numbers of .npy files stay what they are, (height, width) or (channels, height, width). Pixels of picture files are
    whole numbers from 0 to 255, in grey for one channel and as red, green, blue for three; with a `size` (height,
    width) they are resized to it by Pillow's filter of that number (2: bilinear).
    """
    if channels not in (1, 3):
        raise DataError(
            "The model's patches are not squares of one or three channels; give one array (n, channels, …)."
        )
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and path.is_file())
    if not paths:
        raise DataError(f"{str(folder)!r} has no images; it takes files that end in {', '.join(ENDINGS)}.")
    kinds = {path.suffix.lower() == ".npy" for path in paths}
    if len(kinds) > 1:
        raise DataError(f"{str(folder)!r} has arrays (.npy) and pictures; give a folder of one kind.")
    if kinds == {True}:
        images = _arrays(paths, channels)
    else:
        images = []
        for path in paths:
            picture = _decoded(path, repr(str(path)), "L" if channels == 1 else "RGB", MOST_PIXELS)
            if size is not None and (picture.height, picture.width) != size:
                picture = picture.resize((size[1], size[0]), resample=resample)
            pixels = np.asarray(picture, dtype=np.uint8)
            images.append(pixels[None] if channels == 1 else np.ascontiguousarray(pixels.transpose(2, 0, 1)))
    shapes = {image.shape for image in images}
    if len(shapes) > 1:
        raise DataError(
            f"The images of {str(folder)!r} have the shapes {' and '.join(map(str, sorted(shapes)[:2]))}; "
            "bring them to one."
        )
    return np.stack(images)


def _arrays(paths: Sequence[Path], channels: int) -> list[np.ndarray]:
    arrays = []
    for path in paths:
        try:
            array = parse_array(read_bytes(path))
        except (OSError, ValueError) as error:
            raise DataError(f"{str(path)!r} holds no image ({error}); write it with numpy.save.") from error
        array = array[None] if array.ndim == 2 else array
        if array.ndim != 3 or len(array) != channels or array.dtype.kind not in "fiu":
            raise DataError(
                f"{str(path)!r} has shape {array.shape}; an image is ({channels}, height, width)"
                + (", or (height, width)." if channels == 1 else ".")
            )
        arrays.append(array)
    return arrays


def _decoded(source: Path | BytesIO, name: str, mode: str, most_pixels: int) -> Any:
    """Decode a picture in a mode of Pillow's; refuse a huge one before that."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingError(
            f"{name} is a picture, and the package Pillow is not installed; run: {adding('images')}, or give .npy."
        ) from error
    try:
        with Image.open(source, formats=("PNG", "JPEG")) as opened:
            if opened.width * opened.height > most_pixels:
                raise DataError(
                    f"{name} has {opened.width} × {opened.height} pixels; make it smaller, at most {most_pixels:,}."
                )
            return opened.convert(mode)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{name} is not a picture that can be read ({error}); save it again.") from error


def patches(images: Float[np.ndarray, "n channels height width"], side: int) -> Float[np.ndarray, "n count f"]:
    """Return images cut into squares, row by row, each flattened by channel, row and column.

    >>> patches(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 1].tolist()
    [2.0, 3.0, 6.0, 7.0]
    """
    n, channels, height, width = images.shape
    if height % side or width % side:
        raise DataError(f"Images of {height} × {width} cannot be cut into squares of side {side}.")
    cut = images.reshape(n, channels, height // side, side, width // side, side)
    return cut.transpose(0, 2, 4, 1, 3, 5).reshape(n, -1, channels * side * side)
