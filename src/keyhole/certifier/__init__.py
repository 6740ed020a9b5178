"""What a trained one-layer model computes, proved for every input, with an error bound from a sample."""

from keyhole.certifier.certificate import ModelCertificate as ModelCertificate
from keyhole.certifier.certificate import Terms as Terms
from keyhole.certifier.certificate import certificate_of as certificate_of
from keyhole.certifier.prove.float_error import FLOAT_ASSUMED as FLOAT_ASSUMED
from keyhole.certifier.prove.float_error import FLOAT_UNITS as FLOAT_UNITS
from keyhole.certifier.prove.float_error import float_error as float_error
from keyhole.certifier.prove.verify_words import WordVerification as WordVerification
from keyhole.certifier.prove.verify_words import verify_words as verify_words
from keyhole.certifier.record import certificate_record as certificate_record
from keyhole.certifier.record import formula as formula
from keyhole.certifier.record import warnings as warnings
