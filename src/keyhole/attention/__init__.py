"""Attention itself: scores, how they become weights, and what is averaged with them.

Everything is written once against the array namespace of its arguments: numpy, jax or torch arrays serve. This door
names the nouns and verbs most used; normalisers, kernels, embeddings and norms have files of their own.
"""

from keyhole.attention.conditional_mean import cme_attention as cme_attention
from keyhole.attention.evaluation import evaluate as evaluate
from keyhole.attention.forward import attend as attend
from keyhole.attention.forward import forward as forward
from keyhole.attention.kernels import Kernel as Kernel
from keyhole.attention.normalisers import Normaliser as Normaliser
from keyhole.attention.normalisers import Softmax as Softmax
from keyhole.attention.norms import profile as profile
from keyhole.attention.sinks import Sink as Sink
from keyhole.attention.smoothing import smooth as smooth
from keyhole.attention.tabulation import Tabulated as Tabulated
from keyhole.attention.tabulation import tabulate as tabulate
from keyhole.attention.weights import Block as Block
from keyhole.attention.weights import Head as Head
from keyhole.attention.weights import Model as Model
