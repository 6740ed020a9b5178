"""Planning: the share of runs in which the true law is named agrees with a table."""

import numpy as np
import pytest

from keyhole.lab.laws.growth_laws import LOG, SQUARE_ROOT
from keyhole.lab.laws.planning import share_named


@pytest.mark.parametrize(
    ("low", "high", "log_named", "root_named"),
    [
        (100, 1000, (0.93, 0.79, 0.66), (0.89, 0.58, 0.32)),
        (10, 3000, (1.00, 0.96, 0.82), (1.00, 0.89, 0.59)),
        (10, 10000, (1.00, 0.98, 0.85), (1.00, 0.92, 0.63)),
    ],
)
def test_planning_table(low, high, log_named, root_named):
    """Shares of runs in which the true law wins by AIC, on twelve geometric contexts at 5, 10 and 20 % noise."""
    contexts = np.geomspace(low, high, 12)
    for truth, shares in ((LOG, log_named), (SQUARE_ROOT, root_named)):
        for noise, share in zip((0.05, 0.1, 0.2), shares, strict=True):
            # both sides are simulations: four errors of 4000 runs, as many again for the table's unstated number
            error = 2 * 4 * (max(share * (1 - share), 0.005) / 4000) ** 0.5
            assert share_named(truth, contexts, noise, runs=4000) == pytest.approx(share, abs=error + 0.005)
