"""What a model is before anything is proved: its scope, its exact tables, and the function read off them."""

from keyhole.certifier.read.decision_lists import SHOWN as SHOWN
from keyhole.certifier.read.decision_lists import HeadReading as HeadReading
from keyhole.certifier.read.decision_lists import read_lists as read_lists
from keyhole.certifier.read.scope import LONGEST as LONGEST
from keyhole.certifier.read.scope import WIDEST as WIDEST
from keyhole.certifier.read.scope import CertifiableModel as CertifiableModel
from keyhole.certifier.read.scope import certifiable as certifiable
