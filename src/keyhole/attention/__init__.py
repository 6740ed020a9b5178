"""Attention itself: scores, how they become weights, and what is averaged with them.

Everything is written once against the array namespace of its arguments: numpy, jax or torch arrays serve.
"""

from keyhole.attention.conditional_mean import cme_attention as cme_attention
from keyhole.attention.conditional_mean import embed_mean as embed_mean
from keyhole.attention.kernel_families import Exponential as Exponential
from keyhole.attention.kernel_families import Gaussian as Gaussian
from keyhole.attention.kernels import Kernel as Kernel
from keyhole.attention.normalisers import Entmax15 as Entmax15
from keyhole.attention.normalisers import Hardmax as Hardmax
from keyhole.attention.normalisers import Linear as Linear
from keyhole.attention.normalisers import Normaliser as Normaliser
from keyhole.attention.normalisers import Sigmoid as Sigmoid
from keyhole.attention.normalisers import Softmax as Softmax
from keyhole.attention.normalisers import Sparsemax as Sparsemax
from keyhole.attention.normalisers import Uniform as Uniform
from keyhole.attention.sinks import Sink as Sink
from keyhole.attention.sinks import attend_with_sink as attend_with_sink
from keyhole.attention.smoothing import smooth as smooth
