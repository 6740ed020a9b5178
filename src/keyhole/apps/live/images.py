"""Images that a page gave: a few of them, kept beside the runs by the digest of their content, and asked for by it.

No name of a file comes from the browser. What is kept was read once by the loader that reads it later, so that what the
loader refuses is never written.
"""

import re
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from threading import Lock

from keyhole.apps.heads.images import image_ending
from keyhole.apps.live.limits import PIXELS
from keyhole.errors import ArgumentError
from keyhole.files.atomic import write_file

FOLDER = "lab-images"  # of the store
NAME = re.compile(r"[0-9a-f]{32}")
KEPT = 12
_keeping = Lock()  # one image is kept at a time, so that none is looked at while it is removed


def keep_image(store: Path, content: bytes) -> str:
    """Keep an image and return its name; of those that were kept before, only the newest stay."""
    ending = image_ending(content, PIXELS)
    name = sha256(content).hexdigest()[:32]
    with _keeping:
        write_file(store / FOLDER / name / f"image{ending}", content)
        kept = [place for place in (store / FOLDER).iterdir() if NAME.fullmatch(place.name)]
        for old in sorted(kept, key=lambda place: (place.name == name, place.stat().st_mtime))[:-KEPT]:
            rmtree(old, ignore_errors=True)
    return name


def image_folder(store: Path, name: str) -> Path:
    """The folder with the image of this name, and nothing else."""
    if not NAME.fullmatch(name):
        raise ArgumentError("That is not the name of an image; drop an image onto the page.")
    place = store / FOLDER / name
    if not place.is_dir():
        raise ArgumentError("The lab does not have this image any more; drop it onto the page again.")
    return place
