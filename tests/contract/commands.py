"""The contract's only adapter: what is typed for each case, and what was renamed since the golden data was written.

A case's name and its golden file stay for ever; when a command is renamed, regrouped or gets other options, only the
words typed here change. The current folder is a copy of `fixtures`, one for each case; `{data}` is the
repository's folder of data. The JSON of the last line is compared.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """Lines typed one after another; floats of trained networks are left out, since processors differ in them."""

    lines: tuple[str, ...]
    trained: bool = False
    mark: str = ""
    exit_code: int = 0


# A schema that was renamed with its command: the golden name, and today's.
RENAMED_SCHEMAS: dict[str, str] = {"certify/1": "prove/1", "verify/1": "prove-claim/1"}

# A field that was renamed or dropped with its schema, or a number that changed: case, golden path, and why. Every line
# here is listed in the changelog, too.
CHANGED: dict[str, dict[str, str]] = {
    "reproduce": {
        "findings[].run": "names the claim, the scale, the seed and the revision of the measurement",
        "findings[].versions.jaxtyping": "findings state the packages that compute",
    },
    "claims": dict.fromkeys(
        ("claims[].id", "claims[].kind", "claims[].papers[].key", "claims[].papers[].year", "claims[].papers[].arxiv"),
        "parity-memorised is merged into parity-fixed-set, whose complement it was; supervised-length and "
        "checkpoint-exchangeability have a proof, and are counted as checks of the code (kind identity)",
    ),
    **{
        name: {
            "tests[].statistic": "the largest of several looks, in standard deviations of the reorderings",
            "tests[].p_value": "likeness is tested at lags 1 to 5, and places by drift and spread besides their laws",
        }
        for name in ("exchangeable", "exchangeable-rejected")
    },
    **{
        f"certify-{name}": {"eta_chernoff": "the Chernoff bound of a disagreement is gone: wrong_share is smaller"}
        for name in ("file", "run", "unlearned")
    },
    "norms-checkpoint": {
        f"heads[].random.ov-{name}": "GPT-2 starts output matrices smaller by √(2·layers), and so does the control"
        for name in ("spectral", "frobenius", "columns", "rows")
    },
    "verify-proved": {
        "lengths[].margin": "a class of few words is enumerated where its first bound does not settle it",
        "lengths[].parts": "a class of few words is enumerated where its first bound does not settle it",
    },
}

# Numbers of the size of rounding errors that depend on the processor: case, path, and why. Each may be at most 1e-9,
# and within a factor of two of the golden one; every other number is compared to nine digits.
ROUNDING: dict[str, dict[str, str]] = {
    "compile-codes": {
        "error": "OpenBLAS adds up the products of the proof's enclosures in an order that depends on the processor's "
        "kernel (OPENBLAS_CORETYPE: SkylakeX 2.4946e-12, Haswell 2.4519e-12, Prescott 2.5088e-12). Each is a true "
        "bound; with the exact sums another golden number would change."
    },
}

LEARN = "learn --workers 0"
GRID = "learn and:2 --context 6 --samples 24 --seeds 1 --workers 0 --store store --json --learner"
SMALL = "--set steps=4,every=2,width=8,heads=2,hidden=8 --keep-weights"
WITHOUT_SETTINGS = (
    "elimination",
    "elimination:signed",
    "gf2",
    "gf2:affine",
    "consistent:and",
    "consistent:junta",
    "sklearn:tree",
    "sklearn:logistic",
    "sklearn:lasso",
    "sklearn:forest",
    "sklearn:mlp",
)
WITH_SETTINGS = (
    "transformer",
    "transformer:parity",
    "transformer:paper",
    "transformer:bounded",
    "deep:2",
    "started:compiled",
    "started:random",
)

# How the store of the fixtures was filled; typed again on it, each finds its run, since the run's identity is the same.
STORED = {name: f"{GRID} {name}" for name in WITHOUT_SETTINGS} | {
    name: f"{GRID} {name} {SMALL}" for name in WITH_SETTINGS
}
TRAINED_RUN = (
    "learn and:2 --context 8 --samples 200 --seeds 1 --workers 0 --store store --json --keep-weights "
    "--set width=16,hidden=16,heads=2,steps=600"
)
LEARNED, UNLEARNED, BOUNDED = "ea31ad35a0", "0b9c497ec1", "2924dc602b"  # runs of the store

EXPORTED = "runs list --out runs.csv --store store"

# How the compiled files of the fixtures were written.
COMPILED = {
    "and": 'compile "x3 & x9 & ~x14" --context 16 --out new.safetensors',
    "majority": "compile majority:3 --context 8 --output bits --out new.safetensors",
}

VERIFY = "--before BOS --read-at SEP --samples 1000 --store verdicts --json"

CASES: dict[str, Case] = {
    "describe": Case(('describe "x3 & ~x17 | maj(x1,x2,x5)" --context 1000 --json',)),
    "describe-large": Case(("describe majority:101 --context 1e9 --json",)),
    "describe-file": Case(("describe --file and.safetensors --lists 3 --json",)),
    **{
        f"compile-{name}": Case((f'compile "{formula}" --context 32 --construction {name} --json',))
        for name, formula in {
            "auto": "x3 & x17",
            "pair": "x3 & x17",
            "additive": "x3 & x17 & ~x20",
            "codes": "x1 ^ x2 & x3",
            "heads": "x1 ^ x2",
            "veto": "x3 & x17",
            "least": "x3 & x17",
        }.items()
    },
    "compile-minimise": Case(("compile and:3 --context 100 --minimise product --output bits --json",)),
    "check-as-claimed": Case(("check and.safetensors --json",)),
    "check-not-as-claimed": Case(("check spoiled.safetensors --json",), exit_code=1),
    "norms-function": Case(('norms "x0 & (x1 | x2)" --output bits --json',)),
    "norms-checkpoint": Case(("checkpoint norms model --json",)),
    "bound-formula": Case(("bound and:3 --samples 1e6 --context 1000 --json",)),
    "bound-uniform": Case(("bound majority:5 --samples 1e6 --context 100 --law uniform --json",)),
    "bound-norms": Case(("bound --norms norms.json --samples 1e6 --gap 0.1 --json",)),
    "bound-file": Case(("bound --file and.safetensors --samples 1e6 --json",)),
    "bound-run": Case((f"bound --run {BOUNDED} --store store --json",)),
    "bound-runs": Case(("bound --run all --store store --json",)),
    "bound-growth": Case(("bound and:3 --samples 1e6 --context 1000 --vary 100,1000 --json",)),
    "learn-grid": Case(
        ("learn and:3 --context 10,20 --samples 8,16,32 --seeds 4 --learner elimination --workers 0 --json",)
    ),
    "learn-adaptive": Case(
        (f"{LEARN} and:3 --context 25..100 --learner elimination,consistent:and --budget 60 --json",)
    ),
    "learn-transformer": Case(
        (f"{LEARN} and:2 --context 6 --samples 24 --seeds 2 --set steps=4,every=2,width=8,heads=2,hidden=8 --json",),
        trained=True,
        mark="slow",
    ),
    "learn-certified": Case((f"{TRAINED_RUN} --certify 2",)),
    "learn-plan": Case(("plan plan.toml --workers 0 --json",)),
    **{
        name: Case((f"plan {{data}}/{name}/plan.toml --data {{data}}/{name} --only-found --json",), mark=mark)
        for name, mark in {"registered": "slow", "registered-3200": "slow", "registered-12800": "long"}.items()
    },
    "curve": Case(("curve table.csv --target label --accuracy 0.9 --splits 4 --irrelevant 5 --json",)),
    "fit": Case(("fit table.csv --json",)),
    "fit-nothing": Case(("fit noise.csv --sparsity 1 --json",), exit_code=1),
    "certify-file": Case(("prove and.safetensors --lists 3 --json",)),
    "certify-run": Case((f"prove --run {LEARNED} --store store --assume-junta 2 --json",)),
    "certify-unlearned": Case((f"prove --run {UNLEARNED} --store store --samples 1e4 --json",)),
    "verify-checkpoint": Case((f"prove model --claim majority --lengths 3,4 {VERIFY}",), exit_code=1),
    "verify-proved": Case((f'prove model --claim "at least 0 of 1" --lengths 2,5 {VERIFY}',)),
    "verify-compiled": Case(('prove and.safetensors --claim "x3 & x9 & ~x14" --samples 1000 --json',)),
    "heads": Case(("heads model --rows tokens.npy --seed 1 --json",)),
    "heads-estimator": Case(("checkpoint estimator model --rows long.npy --json",)),
    "infer": Case(("infer gaussian --size 8,16,32 --repeats 50 --json",)),
    "infer-keys": Case(("infer gp --attention softmax,cme --size 8,16 --repeats 10 --json",)),
    "pretrain": Case(("pretrain finite --mask 1,2 --size 8 --repeats 0 --json",)),
    "pretrain-trained": Case(
        ("pretrain finite --size 4 --samples 100 --labels 20 --repeats 2 --json",),
        trained=True,
        mark="slow",
    ),
    "exchangeable": Case(("exchangeable sequences.npy --permutations 199 --json",)),
    "exchangeable-rejected": Case(("exchangeable ordered.npy --permutations 199 --json",), exit_code=1),
    "exchangeable-model": Case(("checkpoint order model --rows tokens.npy --json",), exit_code=1),
    "runs-list": Case(("runs list --store store --json",)),
    "runs-show": Case((f"runs show {LEARNED} --store store --json",)),
    "runs-compare": Case(
        (
            "learn and:2 --context 6 --samples 24 --seeds 1 --workers 0 --store other --learner elimination",
            "runs compare other --store store --json",
        )
    ),
    "train": Case(
        ("train and:2 --context 6 --samples 24 --set steps=4,every=2,width=8,heads=2,hidden=8 --json",),
        trained=True,
        mark="slow",
    ),
    "suite": Case(("score suite 2 --context 16 --out suite --json",)),
    "score": Case(
        (
            "score suite 2 --context 16 --out suite",
            "score attributions suite/key.json attributions.npy --model model-000 --json",
        )
    ),
    "claims": Case(("claims --json",)),
    "reproduce": Case(("reproduce --only normaliser-constants --workers 1 --out report --json",), mark="slow"),
}

# The commands whose output the README shows, and which of its printed numbers their JSON has.
README = {
    "readme-describe": Case(('describe "x3 & ~x17 | maj(x1,x2,x5)" --context 1000 --json',)),
    "readme-compile": Case(('compile "x3 & x17 & ~x40" --context 512 --json',)),
    "readme-bound": Case(("bound and:3 --samples 1e6 --context 1000 --json",)),
    "readme-infer": Case(("infer gaussian --size 8..64 --json",)),
    "readme-pretrain": Case(("pretrain finite --mask 1,2,4,8 --size 16 --repeats 0 --json",)),
    "readme-learn": Case(
        ("learn and:3 --context 25..800 --learner elimination --workers 0 --store readme --json",), mark="slow"
    ),
    "readme-certify": Case(
        (
            f"{LEARN} and:3 --context 400 --samples 300 --seeds 1 --seed 50000 --keep-weights --store readme",
            "prove --run 890e74d36a --assume-junta 3 --store readme --json",
        ),
        mark="long",
    ),
}

# Input that is refused in a sentence, with exit code 2.
REFUSED = {
    "a formula that ends": 'describe "x3 &"',
    "a context of no positions": "compile and:3 --context 0",
    "a file that is not there": "check nothing.safetensors",
    "a file that is no model": "check table.csv",
    "an option that is unknown": "describe and:3 --no-such-option",
    "a command that is unknown": "no-such-command",
    "a run that is unknown": "runs show ffffffff --store store",
    "a claim that cannot be read": f'prove model --claim "some of 1" --lengths 3 {VERIFY}',
    "a model that is unknown": "infer no-such-model",
    "a learner that is unknown": "learn and:3 --context 5 --learner no-such-learner --json",
}
