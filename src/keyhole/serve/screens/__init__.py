"""The screens of the lab, in the order of the menu."""

from keyhole.serve.screens.base import Screen as Screen
from keyhole.serve.screens.claims import SCREEN as CLAIMS
from keyhole.serve.screens.latent import SCREEN as LATENT
from keyhole.serve.screens.model import SCREEN as MODEL
from keyhole.serve.screens.sweeps import SCREEN as SWEEPS
from keyhole.serve.screens.training import SCREEN as TRAINING
from keyhole.serve.screens.variable import SCREEN as VARIABLE

SCREENS: tuple[Screen, ...] = (VARIABLE, TRAINING, SWEEPS, LATENT, MODEL, CLAIMS)
