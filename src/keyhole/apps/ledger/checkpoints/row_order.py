"""Do published encoders move with their rows and positions?"""

from collections.abc import Mapping
from functools import partial
from math import log10

import numpy as np

from keyhole.apps.heads.head_data import Images, Rows, Text
from keyhole.apps.heads.order import ModelOrder, model_order
from keyhole.apps.ledger.checkpoints.head_roles import read_digits
from keyhole.apps.ledger.checkpoints.sources import DIGITS, SENTENCES, TSP, VIT, VIT_SETTINGS, named, where_present
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.checkpoints import load_checkpoint
from keyhole.errors import MissingError
from keyhole.figure import Axis, Figure
from keyhole.papers import ZHANG_2022
from keyhole.verdicts import ClaimVerdict

CLAIM = Claim(
    id="checkpoint-exchangeability",
    title="Published encoders move with their rows and positions; order matters through positions alone",
    statement=(
        "An encoder's last rows move with its (row, position) pairs, exactly. Models without positions are exchangeable in their rows; models with them depend on order "
        "through the table of positions and in no other way."
    ),
    formula=r"f(PX)=P\,f(X)",
    kind="identity",
    source="claim (a) of Zhang et al. (2022, abstract) starts from exchangeable positioned tokens; that the architecture is equivariant is textbook",
    prediction=(
        "Moved with their positions, rows of MiniLM-L6, of the MNIST transformer and of both travelling-salesman encoders change by at most 1e-9 of the largest entry. "
        "Tokens of MiniLM moved without them change its last rows by at least 1 % on average. The last node of a tour does not change, to 1e-9, when the others are reordered."
    ),
    could_fail="A change above 1e-9 where rows keep their positions or have none, or below 1 % where they do not.",
    papers=(ZHANG_2022,),
)

ROUNDING, FELT = 1e-9, 0.01
INPUTS = {"quick": 10, "paper": 100}


@partial(Experiment, CLAIM)
@where_present
def experiment(scale: Scale, seed: int) -> Outcome:
    """Move the rows of every model, with their positions and without."""
    count, rng = INPUTS[scale], np.random.default_rng(seed)
    tours = {nodes: needed.find() for nodes, needed in TSP.items()}
    vision, digits = VIT.find(), DIGITS.find()
    orders: dict[str, ModelOrder] = {
        "MiniLM": model_order("minilm", Text(SENTENCES[:count]), seed=seed),
        "MNIST": model_order(
            load_checkpoint(vision, config=VIT_SETTINGS), Images(read_digits(digits)[:count]), seed=seed
        ),
        **{
            f"tours of {nodes}": model_order(path, Rows(rng.random((count, nodes, 2))), seed=seed)
            for nodes, path in tours.items()
        },
    }
    readings = [
        {name: order.moved_together for name, order in orders.items()},
        {name: order.moved_alone for name, order in orders.items()},
        {name: order.moved_context for name, order in orders.items()},
    ]
    together, alone, context = [{name: value for name, value in read.items() if value is not None} for read in readings]
    return Outcome(
        judge(*readings),
        f"{named([vision, *tours.values()])}. Moved with positions: {_list(together)}. Moved without: {_list(alone)}. Last row, those before it reordered: {_list(context)}.",
        {
            **{f"{name}: moved with positions": value for name, value in together.items()},
            **{f"{name}: moved without": value for name, value in alone.items()},
            **{f"{name}: last row": value for name, value in context.items()},
        },
        f"largest of {count} inputs, one permutation of each; means for what moves without positions",
        (
            Figure(
                title="How far last rows change when rows move",
                subtitle="powers of ten of the change, as a share of the rows; −16 stands for none",
                kind="points",
                rows=tuple(
                    {"model": name, "change": _power(value), "moved": moved}
                    for moved, values in (
                        ("with positions", together),
                        ("without", alone),
                        ("those before the last", context),
                    )
                    for name, value in values.items()
                ),
                x=Axis("model", "model", "category"),
                y=Axis("change", "log10 of the change"),
                colour=Axis("moved", "rows moved", "category"),
            ),
        ),
        caveats=(
            "That rows move with their positions is a property of the architecture, and shows that the model was read right; it says nothing of data.",
            "Of real text no exact posterior is known: whether these models infer a latent variable was not tested. Prior-fitted networks were not tested here; they can be asked in the same way.",
        ),
    )


def judge(
    together: Mapping[str, float | None], alone: Mapping[str, float | None], context: Mapping[str, float | None]
) -> ClaimVerdict:
    """The verdict on every reading that the prediction names; one that is missing is refused, and NaN fails."""
    still = {
        **{f"{name}: moved with positions": value for name, value in together.items()},
        **{f"{name}: last row": value for name, value in context.items() if name.startswith("tours")},
    }
    felt = {"MiniLM: moved without": alone["MiniLM"]}
    if missing := [name for name, value in {**still, **felt}.items() if value is None]:
        raise MissingError(
            f"{', '.join(missing)} was asked for, and the model at hand gives no such reading; use the published weights"
        )
    good = all(value is not None and value <= ROUNDING for value in still.values())
    moves = all(value is not None and value >= FELT for value in felt.values())
    return "holds" if good and moves else "fails here"


def _list(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2g}" for name, value in values.items())


def _power(value: float) -> float:
    return max(-16.0, log10(value)) if value > 0 else -16.0
