"""Settings of a transformer change by name, and are checked."""

import pytest

from keyhole.errors import ArgumentError
from keyhole.training.learners import TransformerSettings, change_settings


def test_settings_change_by_name_and_are_checked():
    """Values may be text; names that are none, and values of another kind, are refused with what there is."""
    made = change_settings(
        TransformerSettings(), {"width": "32", "heads": 2, "rate": "1e-2", "residual": "false", "norm": "pre"}
    )
    assert (made.width, made.heads, made.rate, made.residual, made.norm) == (32, 2, 1e-2, False, "pre")
    assert change_settings(TransformerSettings(weight_scale=0.1), {"weight_scale": "none"}).weight_scale is None
    for changes, sentence in [
        ({"depth": 2}, "no setting 'depth'; there are heads, width"),
        ({"width": "wide"}, "it is a whole number"),
        ({"width": "32.5"}, "it is a whole number"),
        ({"rate": "fast"}, "it is a number"),
        ({"rate": "nan"}, "finite numbers"),
        ({"residual": "maybe"}, "it is true or false"),
        ({"heads": 3}, "the heads divide the width"),
    ]:
        with pytest.raises(ArgumentError, match=sentence):
            change_settings(TransformerSettings(), changes)
