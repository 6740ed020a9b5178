"""The screens of the lab, in the order of the menu."""

from keyhole.apps.live.screens.base import Screen as Screen
from keyhole.apps.live.screens.latent import SCREEN as LATENT
from keyhole.apps.live.screens.model import SCREEN as MODEL
from keyhole.apps.live.screens.sweeps import SCREEN as SWEEPS
from keyhole.apps.live.screens.training import SCREEN as TRAINING
from keyhole.apps.live.screens.variable import SCREEN as VARIABLE

SCREENS: tuple[Screen, ...] = (VARIABLE, TRAINING, SWEEPS, LATENT, MODEL)
