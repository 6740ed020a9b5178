"""Sets of words of one length: by counts of symbols, and by the state in which a finite automaton ends."""

from keyhole.languages.automata import Automaton as Automaton
from keyhole.languages.automata import AutomatonClasses as AutomatonClasses
from keyhole.languages.automata import product as product
from keyhole.languages.classes import WordClasses as WordClasses
from keyhole.languages.counts import CountClasses as CountClasses
from keyhole.languages.counts import intervals as intervals
from keyhole.languages.properties import AtLength as AtLength
from keyhole.languages.properties import CountProperty as CountProperty
from keyhole.languages.properties import EqualCounts as EqualCounts
from keyhole.languages.properties import Property as Property
from keyhole.languages.properties import RegularProperty as RegularProperty
from keyhole.languages.properties import Restricted as Restricted
from keyhole.languages.properties import TableProperty as TableProperty
from keyhole.languages.properties import with_last as with_last
from keyhole.languages.reading import FORMS as FORMS
from keyhole.languages.reading import read_property as read_property
from keyhole.languages.regular import automaton_of as automaton_of
from keyhole.languages.regular import minimal as minimal
