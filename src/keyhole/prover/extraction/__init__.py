"""What a model is before anything is proved: its scope, its exact tables, and the function read off them."""

from keyhole.prover.extraction.decision_lists import SHOWN as SHOWN
from keyhole.prover.extraction.decision_lists import HeadReading as HeadReading
from keyhole.prover.extraction.decision_lists import Ring as Ring
from keyhole.prover.extraction.decision_lists import read_lists as read_lists
from keyhole.prover.extraction.scope import LONGEST as LONGEST
from keyhole.prover.extraction.scope import WIDEST as WIDEST
from keyhole.prover.extraction.scope import CertifiableModel as CertifiableModel
from keyhole.prover.extraction.scope import certifiable as certifiable
from keyhole.prover.extraction.scope import in_format as in_format
