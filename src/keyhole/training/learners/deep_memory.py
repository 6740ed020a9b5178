"""What a run of the deep transformer holds in memory, known before anything is drawn or compiled."""

from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.training_memory import ENTRY, padded_size
from keyhole.training.task import ProblemSize

AT_ONCE = 1 << 24  # weights of attention, or entries of hidden rows, that are computed at once when nothing is learned
MOST = 1024  # sequences in a block, at most
KEPT = 4  # arrays of heads × T × T that a step keeps for its way back, a layer: scores, weights, masks, gradients
ROWS = 12  # arrays of T rows that a step keeps, a layer
PASSED = 3  # arrays of T rows at once, where nothing is kept


def block_rows(settings: TransformerSettings, context: int) -> int:
    """How many sequences are evaluated at once: a power of two, so that few shapes are compiled."""
    one = (context + 1) * max(settings.heads * (context + 1), settings.hidden, settings.width)
    rows = 1
    while rows < MOST and 2 * rows * one <= AT_ONCE:
        rows *= 2
    return rows


def deep_memory(layers: int, settings: TransformerSettings, size: ProblemSize, samples: int | None) -> int:
    """The bytes that grow with the context, of a run on a training set of so many samples (None: fresh ones).

    They are those of a step, or of a block that is evaluated, whichever are more. The numbers of arrays were counted on
    compiled programs of two and three layers at T = 60 and 200: at least what those take, and at most twice.
    """
    tokens, wide = size.context + 1, max(settings.width, settings.hidden)
    batch = settings.batch or padded_size(samples or 1, whole=True)
    step = layers * batch * tokens * (KEPT * settings.heads * tokens + ROWS * wide)
    block = block_rows(settings, size.context) * tokens * (settings.heads * tokens + PASSED * wide)
    return ENTRY * max(step, block)
