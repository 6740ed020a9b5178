"""Kernels and attention as kernel estimators: smoothing, conditional means, sinks."""

from keyhole.kernels.algebra import Kernel as Kernel
from keyhole.kernels.conditional_mean import cme_attention as cme_attention
from keyhole.kernels.sinks import Sink as Sink
from keyhole.kernels.smoothing import smooth as smooth
