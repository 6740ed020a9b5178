"""`keyhole learn`: how many samples a learner needs as the context grows; `keyhole plan`: a registered sweep."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import complete_functions, complete_learners, counts, names, settings
from keyhole.cli.output import INTERRUPTED
from keyhole.errors import KeyholeError

ONLINE_SECONDS = 180  # of trying on fresh samples, if no limit is given

TASK = (
    "What is learned: and:3, parity:3, majority:5, threshold:2:5, random:3, or a formula. Its positions are drawn anew "
    "for every run."
)
LEARNER = (
    "The learner, and after a comma others beside it: transformer, transformer:parity (or paper, bounded), deep:2 "
    "(layers), elimination, elimination:signed, gf2 (parities), gf2:affine, consistent:and, consistent:junta, "
    "sklearn:tree, sklearn:logistic, sklearn:lasso, sklearn:forest, sklearn:mlp; started:compiled starts from the "
    "function itself, beside started:random."
)
SET = (
    "Settings of the inputs (law=balanced, label_noise=0.1, feature_noise, symbols, balanced_sets) and of the "
    "transformers (width=32,heads=2,rate=1e-3; an unknown name lists them all)."
)
CONTEXT = "Context lengths T, such as 25,50,100 or 25..800 (doublings)."
SAMPLES = "Training-set sizes m, or fresh: new samples at every step; without it sizes are chosen as runs come in."
PRECISION = "Half-width of the interval of m* to reach, relative to m*; 0.2 if not given."
BUDGET = "Runs at one context, at most, where sizes are chosen; 400 if not given."
SEEDS = "Runs at each size of --samples; 20 if not given."
TIME = f"With fresh samples: seconds to try, with ever more steps a run; {ONLINE_SECONDS} if not given, 0: no limit."
CERTIFY = "Certify every successful run, assuming that the target reads at most S positions; 0: assume nothing."
WORKERS = "Processes; one per core if not given, 0: this process."
DATA = "Tables of finished rows: put into the store first, and written while runs are made."

Workers = Annotated[int | None, typer.Option(help=WORKERS, metavar="N", min=0, show_default=False)]


def learn_command(
    task: Annotated[str, typer.Argument(help=TASK, show_default=False, autocompletion=complete_functions)],
    context: Annotated[str, typer.Option(help=CONTEXT, metavar="LIST", show_default=False)],
    samples: Annotated[str, typer.Option(help=SAMPLES, metavar="LIST")] = "",
    seeds: Annotated[int | None, typer.Option(help=SEEDS, metavar="N", show_default=False)] = None,
    learner: Annotated[
        str, typer.Option(help=LEARNER, metavar="LIST", autocompletion=complete_learners)
    ] = "transformer",
    set_: Annotated[str, typer.Option("--set", help=SET, metavar="LIST", show_default=False)] = "",
    precision: Annotated[float | None, typer.Option(help=PRECISION, metavar="SHARE", show_default=False)] = None,
    budget: Annotated[int | None, typer.Option(help=BUDGET, metavar="N", min=1, show_default=False)] = None,
    time_limit: Annotated[float | None, typer.Option(help=TIME, metavar="SECONDS", min=0, show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="The first seed; the others follow it.", min=0)] = 0,
    certify: Annotated[int | None, typer.Option(help=CERTIFY, metavar="S", min=0, show_default=False)] = None,
    keep_weights: Annotated[bool, typer.Option("--keep-weights", help="Keep the weights of every new run.")] = False,
    workers: Workers = None,
    store: Path | None = None,
    out: Path | None = None,
) -> object:
    """Find m*, the training-set size at which half of the runs learn TASK, at each context.

    Every finished run is kept: the same command goes on where it was stopped.

    --out writes the chief figure (.html, .svg, .pdf, .png, .csv), the answer (.json, .txt), the plan (.toml), or every
    figure into a folder.

    Examples:

      keyhole learn and:3 --context 25..800

      keyhole learn and:3 --context 25,50 --learner elimination,sklearn:tree

      keyhole learn and:3 --context 25 --samples 20..160 --learner deep:2

      keyhole learn parity:4 --context 30 --samples fresh --seeds 4

      keyhole learn and:3 --context 50 --samples 200 --certify 3
    """
    from keyhole.api.learn import Execution, Schedule, learn, learn_certified
    from keyhole.api.sample_complexity import SampleComplexity
    from keyhole.errors import ArgumentError
    from keyhole.show.progress_view import view_progress

    SampleComplexity.require_ending(out)
    online = samples == "fresh"
    if time_limit is not None and not online:
        raise ArgumentError("--time-limit is for fresh samples; limit a sweep over training sets by --budget.")
    rounds = {name: value for name, value in (("precision", precision), ("budget", budget)) if value is not None}
    if samples and rounds and not online:
        raise ArgumentError(f"--{' and --'.join(rounds)} is for sizes that are chosen in rounds; leave --samples out.")
    sizes = tuple(counts(samples)) if samples and not online else ()
    schedule = Schedule(samples=sizes, seeds=seeds, online=online, first_seed=seed, **rounds)  # type: ignore[arg-type]
    limit = (ONLINE_SECONDS if time_limit is None else time_limit or None) if online else None
    execution = Execution(store, workers, keep_weights=keep_weights, time_limit=limit)
    options = {"schedule": schedule, "execution": execution, "settings": settings(set_)}
    with interruptible(execution.folder), view_progress("starting") as watch:
        question = task, counts(context), names(learner)
        if certify is None:
            return learn(*question, **options, watch=watch)  # type: ignore[arg-type]
        return learn_certified(*question, assume_junta=certify or None, **options, watch=watch)  # type: ignore[arg-type]


def plan_command(
    plan: Annotated[Path, typer.Argument(help="A plan, as `keyhole learn --out FILE.toml` writes it.", metavar="FILE")],
    data: Annotated[Path | None, typer.Option(help=DATA, metavar="DIR")] = None,
    only_found: Annotated[
        bool, typer.Option("--only-found", help="Train nothing; answer from the runs in the store and in --data.")
    ] = False,
    workers: Workers = None,
    store: Path | None = None,
    out: Path | None = None,
) -> object:
    """Carry out the sweeps of a plan exactly as it spells them, or go on with them.

    --out writes the chief figure (.html, .svg, .pdf, .png, .csv) or the answer (.json, .txt).

    Examples:

      keyhole plan and.toml --data rows

      keyhole plan and.toml --data rows --only-found
    """
    from keyhole.api.learn import Execution
    from keyhole.api.plans import PlanResult, run_plan
    from keyhole.show.progress_view import view_progress

    PlanResult.require_ending(out)
    execution = Execution(store, workers)
    with interruptible(execution.folder), view_progress("starting") as watch:
        return run_plan(plan, data=data, make=not only_found, execution=execution, watch=watch)


@contextmanager
def interruptible(folder: Path) -> Iterator[None]:
    """Answer Ctrl-C by where the finished runs are: what breaks while a sweep is being stopped is part of the stop."""
    try:
        yield
    except (KeyboardInterrupt, KeyholeError) as stop:
        cause: BaseException | None = stop
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__context__
        if cause is None:
            raise
        typer.echo(
            f"keyhole: interrupted; finished runs are kept in {folder}. The same command goes on from there.", err=True
        )
        raise typer.Exit(INTERRUPTED) from stop
