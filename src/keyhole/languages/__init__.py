"""Sets of words of one length: by counts of symbols, and by the state in which a finite automaton ends."""

from keyhole.languages.automata import Automaton as Automaton
from keyhole.languages.automata import AutomatonClasses as AutomatonClasses
from keyhole.languages.automata import product as product
from keyhole.languages.classes import WordClasses as WordClasses
from keyhole.languages.counts import CountClasses as CountClasses
from keyhole.languages.counts import intervals as intervals
