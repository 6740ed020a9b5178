"""How wrong a refuted model is: an interval for the share of inputs on which model and function differ."""

from keyhole.prover.wrong_share.wrong_share import WrongShare as WrongShare
from keyhole.prover.wrong_share.wrong_share import wrong_share as wrong_share
