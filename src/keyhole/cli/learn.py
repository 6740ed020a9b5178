"""`keyhole learn`: how many samples a learner needs as the context grows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from keyhole.cli.arguments import counts, file_place, folder_place, names, refuse_ignored, settings
from keyhole.cli.exit_codes import INTERRUPTED
from keyhole.errors import ArgumentError, KeyholeError

ONLINE_SECONDS = 180  # of trying on fresh samples, if no limit is given

TASK = (
    "What is learned: and:3, parity:3, majority:5, threshold:2:5, random:3, or a formula. Its positions are drawn anew "
    "for every run."
)
LEARNER = (
    "The learner: transformer, deep:2 (a Transformer of so many layers), elimination, elimination:signed, gf2 "
    "(parities), gf2:affine (negated ones too), consistent:and, consistent:junta, sklearn:tree, sklearn:logistic, "
    "sklearn:lasso, sklearn:forest, sklearn:mlp; started:compiled is told the function, and shows whether training "
    "keeps it, beside started:random."
)
BESIDE = "Other learners to put the same question to, such as elimination,transformer:paper."
PRESET = "Settings of the transformer: default, parity (for parities, best with --online), paper or bounded."
SET = "Other settings of the transformers: width=32,heads=2,rate=1e-3; an unknown name lists them all."
CONTEXT = "Context lengths T, such as 25,50,100 or 25..800 (doublings)."
SAMPLES = "Training-set sizes m of a fixed grid; without it the sizes are chosen as the runs come in."
SEEDS = "Runs at each size of --samples, or at each context with --online; 20 if not given."
TIME = f"With --online: about how long to try, with ever more steps a run; {ONLINE_SECONDS} if not given, 0: no limit."
BUDGET, PRECISION, QUANTILE = 400, 0.2, 0.5
ENGINE = "Where runs are made: processes (of this machine), here (in this process), or ray (a Ray cluster)."
PLAN = "Carry out the sweeps of this TOML file instead of a TASK; see --save-plan."
DATA = (
    "With --plan: tables of finished rows. They are put into the store first, and written while runs are made. A plan "
    'without widths, or with widths = "apart", goes from the shortest context to the longest.'
)
SAVE_PLAN = (
    "Once the sweep is finished, write it as a TOML file with every default spelled out, so that --plan repeats it "
    "exactly."
)
OUT = "Write the chief figure (.html, .svg, .pdf, .png, .csv), the answer (.json, .txt), or every figure into a folder."


def learn_command(
    task: Annotated[str, typer.Argument(help=TASK, show_default=False)] = "",
    context: Annotated[str, typer.Option(help=CONTEXT, metavar="LIST", show_default=False)] = "",
    samples: Annotated[str, typer.Option(help=SAMPLES, metavar="LIST")] = "",
    online: Annotated[bool, typer.Option("--online", help="Learn from fresh samples, no fixed training set.")] = False,
    time_limit: Annotated[float | None, typer.Option(help=TIME, metavar="SECONDS", min=0, show_default=False)] = None,
    learner: Annotated[str, typer.Option(help=LEARNER, metavar="NAME")] = "transformer",
    beside: Annotated[str, typer.Option(help=BESIDE, metavar="LIST", show_default=False)] = "",
    preset: Annotated[str, typer.Option(help=PRESET, metavar="NAME")] = "default",
    set_: Annotated[str, typer.Option("--set", help=SET, metavar="LIST", show_default=False)] = "",
    quantile: Annotated[float, typer.Option(help="m* is where this share of runs succeeds.")] = QUANTILE,
    precision: Annotated[
        float, typer.Option(help="Half-width of the interval of m* to reach, relative to m*.")
    ] = PRECISION,
    seeds: Annotated[int | None, typer.Option(help=SEEDS, metavar="N", show_default=False)] = None,
    budget: Annotated[int, typer.Option(help="Runs at one context, at most, where sizes are chosen.", min=1)] = BUDGET,
    law: Annotated[
        str,
        typer.Option(help="How bits are drawn: uniform, balanced, or a probability of 1; by the preset if not given."),
    ] = "",
    noise: Annotated[float, typer.Option(help="Share of training labels that are flipped.")] = 0.0,
    feature_noise: Annotated[float, typer.Option(help="Share of training inputs that are flipped.")] = 0.0,
    symbols: Annotated[int, typer.Option(help="Letters of the alphabet; half of them stand for 1.")] = 2,
    balanced_sets: Annotated[
        bool | None,
        typer.Option("--balanced-sets/--any-sets", help="Redraw training sets until 40 to 60 % of their labels are 1."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The first seed; the others follow it.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes; 0 means one per core.", min=0)] = 0,
    engine: Annotated[str, typer.Option(help=ENGINE, metavar="NAME")] = "processes",
    address: Annotated[
        str, typer.Option(help="With --engine ray: the cluster; without it Ray is started here.", metavar="HOST:PORT")
    ] = "",
    store: Annotated[
        Path | None,
        typer.Option(help="Folder of the runs; KEYHOLE_HOME or .keyhole if not given.", metavar="DIR"),
    ] = None,
    keep_weights: Annotated[bool, typer.Option("--keep-weights", help="Keep the weights of every new run.")] = False,
    out: Annotated[Path | None, typer.Option(help=OUT, metavar="PATH")] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Certify every successful run: what it computes, proved or not.")
    ] = False,
    assume_junta: Annotated[
        int | None,
        typer.Option(help="With --certify: assume that the target reads at most S positions.", metavar="S", min=0),
    ] = None,
    plan: Annotated[Path | None, typer.Option(help=PLAN, metavar="FILE")] = None,
    data: Annotated[Path | None, typer.Option(help=DATA, metavar="DIR")] = None,
    only_found: Annotated[
        bool,
        typer.Option(
            "--only-found", help="With --plan: train nothing; answer from the runs in the store and in --data."
        ),
    ] = False,
    save_plan: Annotated[Path | None, typer.Option(help=SAVE_PLAN, metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Find m*, the training-set size at which half of the runs learn TASK, at each context.

    Every finished run is kept: the same command goes on where it was stopped, and several processes may share a store.

    Examples:

      keyhole learn and:3 --context 25..800

      keyhole learn and:3 --context 25 --samples 20..160 --learner sklearn:tree

      keyhole learn and:3 --context 25..200 --beside elimination --out figures

      keyhole learn and:3 --context 25 --samples 200 --seeds 5 --learner deep:2

      keyhole learn parity:4 --context 30 --online --preset parity --seeds 4

      keyhole learn and:3 --context 50 --samples 200 --certify --assume-junta 3

      keyhole learn and:3 --context 25,50 --save-plan and.toml

      keyhole learn --plan and.toml --data rows
    """
    from keyhole.api.engine import engine as open_engine
    from keyhole.api.learn import learn
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    _require_places(None if plan else out, save_plan)
    if plan is not None:
        given = {
            "TASK": task, "--context": context, "--samples": samples, "--online": online, "--beside": beside,
            "--time-limit": time_limit is not None,
            "--learner": learner != "transformer", "--preset": preset != "default", "--set": set_,
            "--quantile": quantile != QUANTILE, "--precision": precision != PRECISION, "--seeds": seeds is not None,
            "--budget": budget != BUDGET, "--law": law, "--noise": noise, "--feature-noise": feature_noise,
            "--symbols": symbols != 2, "--balanced-sets": balanced_sets is not None, "--seed": seed,
            "--keep-weights": keep_weights, "--certify": certify, "--assume-junta": assume_junta is not None,
            "--save-plan": save_plan is not None,
        }  # fmt: skip
        refuse_ignored({name: bool(value) for name, value in given.items()}, "the plan says what is learned, and how")
        with open_engine(engine, address=address, store=store) as executor:
            options = {"make": not only_found, "workers": workers or None, "executor": executor, "store": store}
            _carry_out(plan, data, out=out, as_json=as_json, **options)
        return
    refuse_ignored({"--data": data is not None, "--only-found": only_found}, "add --plan")
    _require_question(task, context)
    if samples or online:
        chosen = {"--budget": budget != BUDGET, "--precision": precision != PRECISION}
        refuse_ignored(chosen, "they are for sizes that are chosen in rounds; leave out --samples and --online")
    refuse_ignored({"--assume-junta": assume_junta is not None and not certify}, "add --certify")
    try:
        with view_progress("starting") as watch, open_engine(engine, address=address, store=store) as executor:
            answer = learn(
                task,
                counts(context),
                samples=counts(samples) if samples else (),
                online=online,
                time_limit=_limit(time_limit) if online else time_limit,
                learner=learner,
                beside=names(beside) if beside else (),
                preset=preset,
                settings=settings(set_) if set_ else {},
                quantile=quantile,
                precision=precision,
                seeds=seeds,
                budget=budget,
                law=law or None,
                label_noise=noise,
                feature_noise=feature_noise,
                symbols=symbols,
                balanced_sets=balanced_sets,
                seed=seed,
                workers=workers or None,
                executor=executor,
                store=store,
                keep_weights=keep_weights,
                certify=certify,
                assume_junta=assume_junta,
                watch=watch,
            )
    except (KeyboardInterrupt, KeyholeError) as stop:
        if not was_interrupted(stop):
            raise
        from keyhole.api.runs import store_folder

        words = f"finished runs are kept in {store_folder(store)}. The same command goes on from there."
        typer.echo(f"keyhole: interrupted; {words}", err=True)
        raise typer.Exit(INTERRUPTED) from stop
    if as_json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    for hint in hints(answer.record()):
        typer.echo(f"keyhole: {hint}", err=True)
    for path, write in ((out, answer.save), (save_plan, answer.save_plan)):
        if path is not None:
            typer.echo(f"wrote {write(path)}", err=True)


def _require_places(out: Path | None, save_plan: Path | None) -> None:
    """Refuse, before anything is done, places where nothing can be written."""
    from keyhole.api.sample_complexity import SampleComplexity

    if save_plan is not None:
        file_place(str(save_plan))
    if out is not None:
        SampleComplexity.require_ending(out)
        (file_place if out.suffix else folder_place)(str(out))


def _require_question(task: str, context: str) -> None:
    """Refuse a question without a task or without contexts."""
    if not (task and context):
        raise ArgumentError("A TASK and --context, or --plan, have to be given, such as: and:3 --context 25..800.")


def _carry_out(plan: Path, data: Path | None, *, out: Path | None, as_json: bool, **options: Any) -> None:
    """Run a plan, and print what it came to."""
    from keyhole.api.plans import PlanResult, run_plan
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if out is not None:
        PlanResult.require_ending(out)
    with view_progress("starting") as watch:
        result = run_plan(plan, data=data, watch=watch, **options)
    if as_json:
        typer.echo(result.to_json())
    else:
        print_document(result.document())
    if out is not None:
        typer.echo(f"wrote {result.save(out)}", err=True)


def _limit(seconds: float | None) -> float | None:
    """The limit of time on fresh samples: the usual one, the one given, or none where 0 is."""
    return ONLINE_SECONDS if seconds is None else seconds or None


def hints(record: Mapping[str, Any]) -> list[str]:
    """Which options help, where the answer wants something."""
    asked = [record, *record["beside"]]
    wanting = any(threshold["more_runs"] for answer in asked for threshold in answer["thresholds"])
    adaptive = record["schedule"]["kind"] == "adaptive"
    remedy = {None: "", "balanced": "--law balanced", "another": "another --law"}[record["trivial_remedy"]]
    advice = ["Raise --budget to allow more runs at each context."] if adaptive and wanting else []
    advice += [f"{remedy} makes both answers likely."] if remedy else []
    return advice + what_to_try(record)


def what_to_try(record: Mapping[str, Any]) -> list[str]:
    """Where no run of the transformer succeeded: settings that may."""
    if record["learner"]["name"] != "transformer" or any(cell["successes"] for cell in record["cells"]):
        return []
    online, parity = record["schedule"]["kind"] == "online", "parity" in record["what"] or "^" in record["what"]
    advice = []
    if parity and not (online and "parity" in record["by"]):
        advice.append("--online --preset parity learns parities from fresh samples, where training sets of few do not.")
    if online:
        advice.append(_more_steps(record))
    if parity and not any(other["by"].startswith("gf2") for other in record["beside"]):
        advice.append("--learner gf2 solves parities by elimination, and shows how many samples suffice.")
    return advice or [
        "--learner elimination, or --beside elimination, shows how many samples suffice without training."
    ]


def _more_steps(record: Mapping[str, Any]) -> str:
    """How to train longer: in more time, where that was short, or with more steps."""
    steps, limit = record["learner"]["steps"], record["time_limit"]
    shorter = "a shorter --context shows whether that helps."
    full = record["full_steps"]
    if limit and full > steps:
        return f"--time-limit {4 * limit:g} tries four times as long, --time-limit 0 all {full:,} steps; {shorter}"
    return f"--set steps={4 * steps} trains four times as long; {shorter}"


def was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: what breaks while a sweep is being stopped is part of the stop."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
