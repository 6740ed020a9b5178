"""Attention over very long contexts, in blocks and with certified errors."""

from keyhole.latent.long.cme import LongEmbedding as LongEmbedding
from keyhole.latent.long.cme import embed_long as embed_long
from keyhole.latent.long.pivoted_cholesky import Factor as Factor
from keyhole.latent.long.pivoted_cholesky import factor as factor
from keyhole.latent.long.softmax import softmax_long as softmax_long
