"""Attention itself: scores, how they become weights, and what is averaged with them.

Everything is written once against the array namespace of its arguments: numpy, jax or torch arrays serve. These are
the names most used; normalisers, embeddings and norms have files of their own.
"""

from keyhole.attention.activations import GELU as GELU
from keyhole.attention.activations import Activation as Activation
from keyhole.attention.activations import Identity as Identity
from keyhole.attention.activations import ReLU as ReLU
from keyhole.attention.activations import TanhGELU as TanhGELU
from keyhole.attention.evaluation import Evaluator as Evaluator
from keyhole.attention.evaluation import evaluate as evaluate
from keyhole.attention.evaluation import from_terms as from_terms
from keyhole.attention.evaluation import is_safe as is_safe
from keyhole.attention.evaluation import safe_width as safe_width
from keyhole.attention.evaluation import score_range as score_range
from keyhole.attention.forward_pass import attend as attend
from keyhole.attention.forward_pass import forward as forward
from keyhole.attention.layers import Affine as Affine
from keyhole.attention.layers import FeedForward as FeedForward
from keyhole.attention.layers import LayerNorm as LayerNorm
from keyhole.attention.layers import RMSNorm as RMSNorm
from keyhole.attention.matrices import ThinNorms as ThinNorms
from keyhole.attention.matrices import matrix_norms as matrix_norms
from keyhole.attention.matrices import thin_norms as thin_norms
from keyhole.attention.normalisers import Entmax15 as Entmax15
from keyhole.attention.normalisers import Linear as Linear
from keyhole.attention.normalisers import Normaliser as Normaliser
from keyhole.attention.normalisers import Sigmoid as Sigmoid
from keyhole.attention.normalisers import Softmax as Softmax
from keyhole.attention.normalisers import Sparsemax as Sparsemax
from keyhole.attention.normalisers import Uniform as Uniform
from keyhole.attention.norms import profile as profile
from keyhole.attention.norms import table_profile as table_profile
from keyhole.attention.positions import LearnedPositions as LearnedPositions
from keyhole.attention.positions import OneHotPositions as OneHotPositions
from keyhole.attention.positions import Positions as Positions
from keyhole.attention.positions import SignCodes as SignCodes
from keyhole.attention.score import DenseScore as DenseScore
from keyhole.attention.score import FactoredScore as FactoredScore
from keyhole.attention.tables import Tabulated as Tabulated
from keyhole.attention.tables import TabulatedHead as TabulatedHead
from keyhole.attention.tables import dense as dense
from keyhole.attention.tables import saves_rows as saves_rows
from keyhole.attention.tables import tabulate as tabulate
from keyhole.attention.tables import thinned as thinned
from keyhole.attention.tokens import AdditiveEmbedding as AdditiveEmbedding
from keyhole.attention.tokens import Embedding as Embedding
from keyhole.attention.tokens import OneHotPairs as OneHotPairs
from keyhole.attention.tokens import PairEmbedding as PairEmbedding
from keyhole.attention.tokens import embed_tokens as embed_tokens
from keyhole.attention.types import Answers as Answers
from keyhole.attention.types import Array as Array
from keyhole.attention.types import Keys as Keys
from keyhole.attention.types import Mixtures as Mixtures
from keyhole.attention.types import Queries as Queries
from keyhole.attention.types import Scores as Scores
from keyhole.attention.types import Values as Values
from keyhole.attention.types import numbers_of as numbers_of
from keyhole.attention.types import require_context as require_context
from keyhole.attention.types import require_numbers as require_numbers
from keyhole.attention.types import require_positive as require_positive
from keyhole.attention.weights import Block as Block
from keyhole.attention.weights import Head as Head
from keyhole.attention.weights import Model as Model
from keyhole.attention.weights import ReadOut as ReadOut
from keyhole.attention.weights import Wiring as Wiring
