"""Kernels and attention as kernel estimators: smoothing and conditional means."""

from keyhole.latent.kernels.conditional_mean import MeanEmbedding as MeanEmbedding
from keyhole.latent.kernels.conditional_mean import embed_mean as embed_mean
from keyhole.latent.kernels.conditional_mean import factor as factor
from keyhole.latent.kernels.families import Constant as Constant
from keyhole.latent.kernels.families import Exponential as Exponential
from keyhole.latent.kernels.families import Features as Features
from keyhole.latent.kernels.families import Gaussian as Gaussian
from keyhole.latent.kernels.families import Given as Given
from keyhole.latent.kernels.families import Kernel as Kernel
from keyhole.latent.kernels.families import Matern as Matern
from keyhole.latent.kernels.families import Polynomial as Polynomial
from keyhole.latent.kernels.families import linear_kernel as linear_kernel
from keyhole.latent.kernels.families import sphere_kernel as sphere_kernel
from keyhole.latent.kernels.smoothing import smooth as smooth
from keyhole.latent.kernels.smoothing import smooth_left_out as smooth_left_out
from keyhole.latent.kernels.smoothing import smoothing_weights as smoothing_weights
