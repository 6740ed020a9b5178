"""Score: how well attributions find the relevant positions of models whose answers are known."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.old_result import OldResult as Result
from keyhole.apps.tables.show_scores import MEASURES, scores_document
from keyhole.apps.tables.suite.attribution import AttributionScore, score_attribution
from keyhole.apps.tables.suite.key import read_attributions, read_key
from keyhole.errors import DataError
from keyhole.files.looking import is_folder, is_there
from keyhole.show.document import Document


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

    models: tuple[ModelScore, ...]
    missing: tuple[str, ...] = ()  # models of the key that the folder has no attributions to

    def mean(self, measure: str) -> float:
        """The average over models of precision, recall, auc or auc_per_input."""
        return float(sum(getattr(model.score, measure).value for model in self.models) / len(self.models))

    @property
    def summary(self) -> str:
        """How many models, and how well their positions were found."""
        means = ", ".join(f"{MEASURES[measure]} {self.mean(measure):.2f}" for measure in MEASURES)
        absent = f" ({len(self.missing)} more of the key are missing)" if self.missing else ""
        return f"{len(self.models)} models{absent}; {means}"

    def document(self) -> Document:
        """A line per model, and the average where there are several."""
        return scores_document(self.record())

    def record(self) -> dict[str, Any]:
        """The scores as plain values, for JSON."""
        return {
            "mean": {measure: self.mean(measure) for measure in MEASURES},
            "models": [asdict(model) for model in self.models],
            "missing": list(self.missing),
        }


def score(
    key: str | Path, attributions: str | Path, *, model: str | None = None, top: int | None = None, seed: int = 0
) -> Scores:
    """Score one .npy file of attributions (n, T), or a folder with one such file per model of the key."""
    answers, given = read_key(Path(key)), Path(attributions)
    if is_folder(given, DataError):
        files = [(answer, given / f"{Path(answer['file']).stem}.npy") for answer in answers]
        pairs = [(answer, path) for answer, path in files if is_there(path, DataError)]
        if not pairs:
            name = f"{Path(answers[0]['file']).stem}.npy"
            raise DataError(
                f"The folder {str(given)!r} holds attributions to no model of the key; name them as {name!r}."
            )
        missing = tuple(Path(answer["file"]).stem for answer, path in files if not is_there(path, DataError))
    else:
        if not is_there(given, DataError):
            raise DataError(f"There is no file {str(given)!r} of attributions; name a .npy file, or a folder of them.")
        pairs, missing = [(_named(answers, given.stem if model is None else model), given)], ()
    return Scores(tuple(_scored(answer, path, top, seed) for answer, path in pairs), missing)


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
