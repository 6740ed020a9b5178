"""The shapes of arrays in which a transformer is trained and evaluated: few, so that few programs are compiled."""

from keyhole.training.learners.settings import TransformerSettings

SMALLEST = 64  # a training set is padded to 64, 128, 256, … (whole batches) or 1024, 8192, … (mini-batches)
AT_ONCE = 1 << 24  # weights of attention, or entries of hidden rows, that are computed at once when nothing is learned
BLOCK = 1024  # sequences in a block, at most


def padded_size(count: int, *, whole: bool) -> int:
    """The standard size a training set is padded to: within a factor 2 for whole batches, 8 for mini-batches."""
    size, factor = (SMALLEST, 2) if whole else (16 * SMALLEST, 8)
    while size < count:
        size *= factor
    return size


def block_rows(settings: TransformerSettings, context: int) -> int:
    """Return the number of sequences that are evaluated at once: a power of two, so that few shapes are compiled."""
    one = (context + 1) * max(settings.heads * (context + 1), settings.hidden, settings.width)
    rows = 1
    while rows < BLOCK and 2 * rows * one <= AT_ONCE:
        rows *= 2
    return rows
