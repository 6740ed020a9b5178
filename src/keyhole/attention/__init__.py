"""Attention itself: scores, how they become weights, and what is averaged with them.

Everything is written once against the array namespace of its arguments: numpy, jax or torch arrays serve. These are
the names most used; normalisers, embeddings and norms have files of their own.
"""

from keyhole.attention.evaluation import Evaluator as Evaluator
from keyhole.attention.evaluation import evaluate as evaluate
from keyhole.attention.forward_pass import attend as attend
from keyhole.attention.forward_pass import forward as forward
from keyhole.attention.function_classes import query_score as query_score
from keyhole.attention.function_classes import tf_block as tf_block
from keyhole.attention.function_classes import tf_head as tf_head
from keyhole.attention.function_classes import tf_layer as tf_layer
from keyhole.attention.function_classes import tf_scalar as tf_scalar
from keyhole.attention.normalisers import Normaliser as Normaliser
from keyhole.attention.normalisers import Softmax as Softmax
from keyhole.attention.norms import profile as profile
from keyhole.attention.positions import LearnedPositions as LearnedPositions
from keyhole.attention.positions import OneHotPositions as OneHotPositions
from keyhole.attention.positions import SignCodes as SignCodes
from keyhole.attention.positions import SinusoidalPositions as SinusoidalPositions
from keyhole.attention.tables import Tabulated as Tabulated
from keyhole.attention.tables import tabulate as tabulate
from keyhole.attention.weights import Block as Block
from keyhole.attention.weights import Head as Head
from keyhole.attention.weights import Model as Model
