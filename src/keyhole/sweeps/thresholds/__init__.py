"""Thresholds: m*(T) estimated from successes and failures, and the next sample sizes to try."""

from keyhole.sweeps.thresholds.design import Design as Design
from keyhole.sweeps.thresholds.design import Grid as Grid
from keyhole.sweeps.thresholds.design import Online as Online
from keyhole.sweeps.thresholds.design import Rounds as Rounds
from keyhole.sweeps.thresholds.design import schedule_from_record as schedule_from_record
from keyhole.sweeps.thresholds.sweeps import Attempt as Attempt
from keyhole.sweeps.thresholds.sweeps import Sweep as Sweep
from keyhole.sweeps.thresholds.sweeps import SweepPlan as SweepPlan
from keyhole.sweeps.thresholds.sweeps import Tally as Tally
from keyhole.sweeps.thresholds.sweeps import replay as replay
from keyhole.sweeps.thresholds.sweeps import sweep as sweep
from keyhole.sweeps.thresholds.sweeps import sweep_by_steps as sweep_by_steps
from keyhole.sweeps.thresholds.threshold import Threshold as Threshold
from keyhole.sweeps.thresholds.threshold import estimate_threshold as estimate_threshold
