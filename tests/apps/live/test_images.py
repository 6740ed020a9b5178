"""Images that a page gave: kept by their content, a few of them, and asked for by its digest alone."""

import io

import numpy as np
import pytest

from keyhole.apps.heads.images import image_ending
from keyhole.apps.live.images import FOLDER, KEPT, image_folder, keep_image
from keyhole.apps.live.limits import PIXELS
from keyhole.errors import ArgumentError, DataError


def saved(array):
    """What numpy.save writes of an array."""
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def test_only_the_newest_images_stay(tmp_path):
    """Of many images the newest few are kept; one that went is asked for again in a sentence."""
    names = [keep_image(tmp_path, saved(np.full((2, 2), number))) for number in range(KEPT + 3)]
    assert len(set(names)) == KEPT + 3
    assert len(list((tmp_path / FOLDER).iterdir())) == KEPT
    assert [path.name for path in image_folder(tmp_path, names[-1]).iterdir()] == ["image.npy"]
    with pytest.raises(ArgumentError, match="drop it"):
        next(image_folder(tmp_path, name) for name in names if not (tmp_path / FOLDER / name).exists())


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc", "a" * 33, "g" * 32, f"{'a' * 31}\n"])
def test_a_name_is_a_digest(tmp_path, name):
    """What is no digest names no image, whatever lies there."""
    with pytest.raises(ArgumentError):
        image_folder(tmp_path, name)


@pytest.mark.parametrize(
    "array",
    [np.zeros(3), np.zeros((1, 1, 1, 1)), np.array([["a"]]), np.zeros((0, 3)), np.zeros((2, 2), dtype=complex)],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_an_array_that_is_no_image(array):
    """Only numbers (height, width) or (channels, height, width) are an image."""
    with pytest.raises(DataError, match="The image has shape"):
        image_ending(saved(array), PIXELS)


def test_an_array_is_never_unpickled():
    """An array of objects is refused before anything of it is read."""
    with pytest.raises(DataError, match="allow_pickle"):
        image_ending(saved(np.array([[{}]], dtype=object)), PIXELS)


@pytest.mark.extra("pillow")
def test_a_picture_is_counted_before_it_is_decoded():
    """A picture with more pixels than the limit is refused by its header; one that is cut off, by its end."""
    image = pytest.importorskip("PIL.Image")
    content = io.BytesIO()
    image.fromarray(np.zeros((40, 50), dtype=np.uint8)).save(content, "PNG")
    assert image_ending(content.getvalue(), 2000) == ".png"
    with pytest.raises(DataError, match="50 × 40 pixels"):
        image_ending(content.getvalue(), 1999)
    with pytest.raises(DataError, match="not a picture that can be read"):
        image_ending(content.getvalue()[:-30], 2000)
    content = io.BytesIO()
    image.fromarray(np.zeros((4, 5, 3), dtype=np.uint8)).save(content, "JPEG")
    assert image_ending(content.getvalue(), 2000) == ".jpg"
