"""What a trained one-layer model computes, proved for every input, with an error bound from a sample."""

from keyhole.prover.caveats import assumptions as assumptions
from keyhole.prover.caveats import warnings as warnings
from keyhole.prover.certificate import ModelCertificate as ModelCertificate
from keyhole.prover.certificate import Terms as Terms
from keyhole.prover.certificate import certificate_of as certificate_of
from keyhole.prover.proof.float_error import FLOAT_ASSUMED as FLOAT_ASSUMED
from keyhole.prover.proof.float_error import FLOAT_UNITS as FLOAT_UNITS
from keyhole.prover.proof.float_error import float_error as float_error
from keyhole.prover.proof.true_on_words import WordVerification as WordVerification
from keyhole.prover.proof.true_on_words import verify_words as verify_words
from keyhole.prover.wrong_share import WrongShare as WrongShare
