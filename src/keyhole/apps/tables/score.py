"""Score: how well attributions find the relevant positions of models whose answers are known."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.result import Result
from keyhole.apps.tables.attribution import AttributionScore, score_attribution
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.files.data import read_array
from keyhole.files.reading import parse_json, read_text
from keyhole.show.answer import Show

SCHEMA = "suite/1"
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
            raise DataError(f"The file {str(given)!r} does not exist; name a .npy file, or a folder of them.")
        name = Path(given.stem if model is None else model).stem  # with or without its ending
        pairs, missing = [(answer, given) for answer in answers if Path(answer["file"]).stem == name], ()
        if not pairs:
            known = Path(answers[0]["file"]).stem
            raise DataError(f"The key has no model {name!r}; say which one was explained, such as {known}.")
    return Scores(tuple(_scored(answer, path, top, seed) for answer, path in pairs), missing)


def _scored(answer: dict[str, Any], path: Path, top: int | None, seed: int) -> ModelScore:
    array = read_array(path, "attributions", SIDES)
    if array.ndim != 2 or array.shape[1] != answer["context"]:
        raise DataError(
            f"{str(path)!r} holds {array.shape}, and the models of the key have a context of {answer['context']}; "
            f"give one array with {SIDES}, without [CLS]."
        )
    return ModelScore(
        file=answer["file"],
        formula=str(answer.get("formula", "")),
        construction=str(answer.get("construction", "")),
        positions=tuple(answer["positions"]),
        score=score_attribution(array, tuple(answer["positions"]), top=top, seed=seed),
    )


def read_key(path: Path) -> tuple[dict[str, Any], ...]:
    """Read the models of an answer key, each with its file, its context and its relevant positions."""
    try:
        text = read_text(path)
    except OSError as error:
        raise DataError(f"The answer key {str(path)!r} cannot be read: {error.strerror}.") from error
    except ValueError:  # not text
        text = ""
    try:
        key = parse_json(text)
        context, models = key["context"], [{**model, "context": key["context"]} for model in key["models"]]
        sound = key.get("schema", SCHEMA) == SCHEMA and _is_count(context) and models
        for model in models:  # a file's name, and different positions of the context
            places = model["positions"]
            inside = isinstance(places, list) and all(_is_count(place) and place < context for place in places)
            sound = sound and isinstance(model["file"], str) and inside and len(set(places)) == len(places)
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise DataError(f"{str(path)!r} is not an answer key; give the key.json that was written with the suite.")
    return tuple(models)


def _is_count(value: object) -> bool:
    """Return True for a whole number from 0 on; a truth value is not one."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
