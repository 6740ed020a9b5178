"""The memory that a training run of a transformer takes, known before anything is drawn or compiled."""

from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.observation import PROBE
from keyhole.training.task import ProblemSize

SMALLEST = 64  # a training set is padded to 64, 128, 256, … (whole batches) or 1024, 8192, … (mini-batches)
ENTRY = 4  # bytes of a number in single precision
COPIES = 4  # of the training set and of the probe, a byte for each symbol
ONE_HOT = 3  # one-hot copies of a batch: there, back, and one in the making; of inputs that are answered there is one
ANSWERED = 256  # inputs of a context from 4,096 on that are answered at once; of shorter ones more, which take little
DROPPED = 6  # arrays of heads × sequences × tokens, where weights of attention are dropped
PARAMETERS = 8  # copies of the position table: itself, its gradient, moments, scores and values with theirs

# of several layers
AT_ONCE = 1 << 24  # weights of attention, or entries of hidden rows, that are computed at once when nothing is learned
BLOCK = 1024  # sequences in a block, at most
KEPT = 4  # arrays of heads × T × T that a step keeps for its way back, a layer: scores, weights, masks, gradients
ROWS = 12  # arrays of T rows that a step keeps, a layer
PASSED = 3  # arrays of T rows at once, where nothing is kept


def padded_size(count: int, *, whole: bool) -> int:
    """The standard size a training set is padded to: within a factor 2 for whole batches, 8 for mini-batches."""
    size, factor = (SMALLEST, 2) if whole else (16 * SMALLEST, 8)
    while size < count:
        size *= factor
    return size


def training_memory(settings: TransformerSettings, size: ProblemSize, samples: int | None) -> int:
    """The bytes that grow with the context, in a run on a training set of so many samples (None: fresh ones).

    Counted are the padded set and the probe, one-hot rows of a batch and of inputs that are answered, the weights of
    attention where they are dropped, and the position table. The number of copies was set above what runs at T = 20,000
    and 40,000 took.
    """
    rows = 0 if samples is None else padded_size(samples, whole=not settings.batch)
    batch = settings.batch or rows
    one_hot = size.symbols * (ONE_HOT * batch + ANSWERED)
    dropped = DROPPED * settings.heads * batch if settings.attention_dropout else 0
    return size.context * (COPIES * (rows + PROBE) + ENTRY * (one_hot + dropped + PARAMETERS * settings.width))


def block_rows(settings: TransformerSettings, context: int) -> int:
    """How many sequences are evaluated at once: a power of two, so that few shapes are compiled."""
    one = (context + 1) * max(settings.heads * (context + 1), settings.hidden, settings.width)
    rows = 1
    while rows < BLOCK and 2 * rows * one <= AT_ONCE:
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
