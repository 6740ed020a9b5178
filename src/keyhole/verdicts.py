"""The words in which keyhole answers whether something is so: verdicts, statuses and outcomes.

Three of the five vocabularies answer a question about every input, in three words: a proof was found, an input or an
argument against was found, or neither. A certificate says PROVED, COUNTEREXAMPLE or UNDECIDED. A threshold function is
"proved", "refuted" or "undecided"; a number format "proved", "refuted" or "tried", since inputs that came out right
prove nothing. The first two words are final: no more time and no more inputs turn them round. The third says that the
search ended without an answer. A claim's verdict is about a measurement: what was predicted "holds", "holds with a
caveat", "fails here", or is "undecided at this scale"; or what it needs, such as the weights of a model, is absent, and
it is "not measured here", or its runs are still under way, and it is "not finished": both count neither for it nor
against it. It speaks of what was measured and of nothing
else: "holds" is not "proved", and whether a claim has a proof is said by its kind. A growth law is "named", or the
points leave it "undecided", or no law is near them: a "misfit".
"""

from typing import Literal

ClaimVerdict = Literal[  # what a measurement says of a claim
    "holds",  # what was predicted was seen
    "holds with a caveat",  # it was seen, within limits that the outcome's caveats name
    "fails here",  # what was seen contradicts what was predicted
    "undecided at this scale",  # too little was measured to tell
    "not finished",  # runs that it needs are still under way: neither for the claim nor against it
    "not measured here",  # what it needs is not on this machine: neither for the claim nor against it
]

CertificateStatus = Literal[  # whether a trained model computes the function that was read off it
    "PROVED",  # the two agree on every input
    "COUNTEREXAMPLE",  # they differ on an input that is shown, beyond rounding
    "UNDECIDED",  # neither was shown; the reason is given
]

StepStatus = Literal[  # whether a model that answers step by step is right on every word of a claim
    "PROVED",  # at every step of every word, by a margin
    "WRONG",  # it writes a wrong symbol at a word that is shown
    "UNDECIDED",  # neither was shown; the open classes are counted
]

FormatOutcome = Literal[  # whether a compiled function keeps its signs in a number format
    "proved",  # on every input: the bound on rounding is below the margin
    "refuted",  # a simulated input came out wrong
    "tried",  # the bound is not below the margin; the inputs simulated, if any, came out right
]

ThresholdVerdict = Literal[  # whether a Boolean function is a threshold of a weighted sum of its bits
    "proved",  # by weights that give its value on every pattern
    "refuted",  # by an exact argument that no weights do
    "undecided",  # not asked at this size, or no answer that exact arithmetic confirms
]

LawStatus = Literal[  # what the decision rule says of the laws
    "named",  # the best law is named: it fits, and the odds against every other are large
    "undecided",  # some law fits, and the points do not single one out
    "misfit",  # no law of the list fits
]
