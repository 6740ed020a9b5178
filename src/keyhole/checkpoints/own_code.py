"""A model's own code as a witness: what was read answers some words as `transformers` does, before anything is proved.

Agreement proves nothing, and a wrong reading mostly shows on any word. The package is used where it is installed. It
reads the folder's own files; nothing is fetched, and code that a folder brings along is not run.
"""

import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.checkpoints.checkpoint import Checkpoint
from keyhole.checkpoints.forward import prepare
from keyhole.checkpoints.one_layer import Frame, require_one_layer
from keyhole.errors import CheckpointError

WORDS = 32
LONGEST = 64  # symbols of a word that is compared
NOT_COMPARED = "not compared with its own code"

# Both passes compute in double precision with the weights as they were loaded, so they differ by rounding alone. How
# much a model amplifies rounding is measured: our pass in single precision strays by as much for the unit 2⁻²⁴ as a
# double one for 2⁻⁵³, 2⁻²⁹ of it. We allow 2¹⁰ times that, since a measured deviation may be small by luck, and another
# order of sums doubles it; and 2⁻⁴⁰ of the terms that a logit adds up, 2¹³ units, where single precision strays by
# nothing. It is a convention and no theorem. A field that is read wrongly moves logits by 10⁻⁶ and more.
AMPLIFIED = 2.0**-29 * 2**10
FLOOR = 2.0**-40


def compared_with_own_code(
    checkpoint: Checkpoint, folder: Path | None, frame: Frame, lengths: Sequence[int], seed: int
) -> str:
    """Compare the logits of some words with transformers' own; return what was compared, refuse what differs."""
    require_one_layer(checkpoint)
    words = _words(checkpoint, frame, lengths, seed)
    if folder is None or not folder.is_dir() or checkpoint.config.get("model_type") is None or not words:
        return NOT_COMPARED
    if not (find_spec("torch") and find_spec("transformers")):
        return NOT_COMPARED
    theirs, version = _their_logits(folder)
    if theirs is None:
        return f"{NOT_COMPARED}: transformers {version} does not load it"
    double, single = prepare(checkpoint), prepare(checkpoint, single=True)
    out = checkpoint.unembedding
    if out is None:
        raise CheckpointError(f"{checkpoint.source} has no map to logits, so no answer can be read.")
    for word in words:
        rows = double.run(double.embed(word)[None])[0]
        ours, wanted = np.asarray(out(rows)), theirs(word)
        with np.errstate(all="ignore"):  # single precision may overflow, and then measures nothing
            strayed = np.nan_to_num(
                ours - out(single.run(single.embed(word)[None])[0]), nan=0.0, posinf=0.0, neginf=0.0
            )
        terms = np.abs(rows) @ np.abs(out.weight) + (0.0 if out.bias is None else np.abs(out.bias))
        allowed = AMPLIFIED * np.abs(strayed).max() + FLOOR * terms.max()
        if wanted.shape != ours.shape or not np.abs(ours - wanted).max() <= allowed:
            worst = np.abs(ours - wanted).max() if wanted.shape == ours.shape else np.inf
            raise CheckpointError(
                f"{checkpoint.source} was to be proved as read, and transformers {version} answers the tokens "
                f"{' '.join(map(str, word))} with logits that differ by {worst:.2g}, where {allowed:.2g} is rounding; "
                "save the model again with that release."
            )
    return f"compared with transformers {version} on {len(words)} words"


def _words(checkpoint: Checkpoint, frame: Frame, lengths: Sequence[int], seed: int) -> list[np.ndarray]:
    """Draw random words in their frame, of the shortest length and of the longest that is not too long."""
    places = checkpoint.embedding.positions
    most = LONGEST if places is None else len(places) - checkpoint.embedding.offset - len(frame.tokens(()))
    fit = [length for length in lengths if length <= min(LONGEST, most)]
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(len(frame.alphabet), size=fit[-(index % 2)]) for index in range(WORDS) if fit]
    return [np.array(frame.tokens(tuple(int(symbol) for symbol in word))) for word in drawn]


def _their_logits(folder: Path) -> tuple[Callable[[np.ndarray], Float[np.ndarray, "T outputs"]] | None, str]:
    """Return the logits of transformers' model in double precision, its weights as it loads them; and its version."""
    import torch  # noqa: PLC0415  (an extra)
    import transformers  # noqa: PLC0415  (an extra)

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
    except Exception:  # noqa: BLE001  (another package's refusal, of whatever kind)
        return None, transformers.__version__
    model = model.double().eval()

    def logits(tokens: np.ndarray) -> Float[np.ndarray, "T outputs"]:
        with torch.no_grad():
            return np.asarray(model(torch.from_numpy(tokens.astype(np.int64))[None]).logits[0].numpy())

    return logits, transformers.__version__
