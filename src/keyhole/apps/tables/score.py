"""Score: how well attributions find the relevant positions of models whose answers are known."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.apps.tables.suite.attribution import AttributionScore, score_attribution
from keyhole.apps.tables.suite.key import read_key
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.files.data import read_array
from keyhole.show.answer import Show

SIDES = "a row per input and a column per position"
FEW = 5  # names of a long list that are shown
MEASURES = {"precision": "precision", "recall": "recall", "auc": "AUC", "auc_per_input": "AUC per input"}
ABOUT = (
    "precision, recall: of the positions ranked first by mean size of attribution, as many as are relevant unless "
    "another number was asked for. AUC: how often a relevant position ranks above another; AUC per input: the same "
    "within each input, then averaged."
)


@dataclass(frozen=True)
class ModelScore:
    """One model of the key, and how well its positions were found."""

    file: str
    formula: str
    construction: str
    positions: tuple[int, ...]
    score: AttributionScore


@dataclass(frozen=True, repr=False)
class Scores(Result):
    """The scored models, in the order of the key."""

    schema: ClassVar[str] = "score/1"
    properties: ClassVar[tuple[str, ...]] = ("mean",)

    models: tuple[ModelScore, ...]
    missing: tuple[str, ...] = ()  # models of the key that the folder has no attributions to

    @property
    def mean(self) -> dict[str, float]:
        """The average over models of each measure."""
        count = len(self.models)
        return {name: sum(getattr(each.score, name).value for each in self.models) / count for name in MEASURES}

    def lines(self, show: Show) -> None:
        """Set a row per model, and the average where there are several."""
        rows = []
        for each in self.models:
            numbers: list[Estimate] = [getattr(each.score, name) for name in MEASURES]
            rows.append((Path(each.file).stem, *(f"{one.value:.2f} {one.low:.2f}–{one.high:.2f}" for one in numbers)))
        if len(rows) > 1:
            rows.append(("average", *(f"{value:.2f}" for value in self.mean.values())))
        show.table(dict.fromkeys(("model", *MEASURES.values()), "<"), rows)
        first = self.models[0].score
        show.line(f"intervals: 95 %, from {first.resamples} resamples of the inputs, seed {first.seed}")
        if self.missing:
            some = ", ".join(self.missing[:FEW]) + (", …" if len(self.missing) > FEW else "")
            whole = len(self.missing) + len(self.models)
            show.line(f"no attributions to {len(self.missing)} of the {whole} models of the key: {some}")
        if show.verbose:
            show.line(ABOUT)


def score(
    key: str | Path, attributions: str | Path, *, model: str | None = None, top: int | None = None, seed: int = 0
) -> Scores:
    """Score one .npy file of attributions (n, T), or a folder with one such file per model of the key."""
    answers, given = read_key(Path(key)), Path(attributions)
    if given.is_dir():
        files = [(answer, given / f"{Path(answer['file']).stem}.npy") for answer in answers]
        pairs = [(answer, path) for answer, path in files if path.exists()]
        if not pairs:
            name = f"{Path(answers[0]['file']).stem}.npy"
            raise DataError(
                f"The folder {str(given)!r} holds attributions to no model of the key; name them as {name!r}."
            )
        missing = tuple(Path(answer["file"]).stem for answer, path in files if not path.exists())
    else:
        if not given.exists():
            raise DataError(f"There is no file {str(given)!r} of attributions; name a .npy file, or a folder of them.")
        pairs, missing = [(_named(answers, given.stem if model is None else model), given)], ()
    return Scores(tuple(_scored(answer, path, top, seed) for answer, path in pairs), missing)


def read_attributions(path: Path) -> np.ndarray:
    """Read an array (n, T) from a .npy file."""
    array = read_array(path, "attributions", SIDES)
    if array.ndim != 2:
        raise DataError(f"{str(path)!r} holds {array.shape}; give one array with {SIDES}.")
    return array


def _named(answers: tuple[dict[str, Any], ...], name: str) -> dict[str, Any]:
    """The model of that name, with or without its ending."""
    stem = Path(name).stem
    for answer in answers:
        if stem == Path(answer["file"]).stem:
            return answer
    known = Path(answers[0]["file"]).stem
    raise DataError(f"The key has no model {stem!r}; say which one was explained, such as {known}.")


def _scored(answer: dict[str, Any], path: Path, top: int | None, seed: int) -> ModelScore:
    positions = tuple(answer["positions"])
    array = read_attributions(path)
    if array.shape[1] != answer["context"]:
        raise DataError(
            f"{str(path)!r} has {array.shape[1]} columns, and the models of the key have a context of "
            f"{answer['context']}; give one column per position, without [CLS]."
        )
    return ModelScore(
        file=answer["file"],
        formula=str(answer.get("formula", "")),
        construction=str(answer.get("construction", "")),
        positions=positions,
        score=score_attribution(array, positions, top=top, seed=seed),
    )
