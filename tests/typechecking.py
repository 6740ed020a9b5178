"""The run-time type checker of the suite: as mypy has it, a whole number is a real number."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
