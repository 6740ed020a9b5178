"""What a training run of the transformer holds in memory, known before anything is drawn or compiled."""

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
