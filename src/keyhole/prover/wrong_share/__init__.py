"""The share of inputs on which a refuted model and its function differ, as an interval."""

from keyhole.prover.wrong_share.interval import WrongShare as WrongShare
from keyhole.prover.wrong_share.interval import wrong_share as wrong_share
