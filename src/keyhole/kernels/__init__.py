"""Kernels and attention as kernel estimators: smoothing, conditional means, sinks."""

from keyhole.kernels.algebra import Kernel as Kernel
from keyhole.kernels.conditional_mean import cme_attention as cme_attention
from keyhole.kernels.conditional_mean import embed_mean as embed_mean
from keyhole.kernels.conditional_mean import feature_attention as feature_attention
from keyhole.kernels.sinks import Sink as Sink
from keyhole.kernels.sinks import attend_with_sink as attend_with_sink
from keyhole.kernels.sinks import gaussian_sink as gaussian_sink
from keyhole.kernels.sinks import polya_sink as polya_sink
from keyhole.kernels.smoothing import smooth as smooth
