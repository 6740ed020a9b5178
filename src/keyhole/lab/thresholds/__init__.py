"""Thresholds: m*(T) estimated from successes and failures, and the next sample sizes to try."""

from keyhole.lab.thresholds.design import BUDGET as BUDGET
from keyhole.lab.thresholds.design import LARGEST as LARGEST
from keyhole.lab.thresholds.design import Design as Design
from keyhole.lab.thresholds.schedule import Adaptive as Adaptive
from keyhole.lab.thresholds.schedule import Grid as Grid
from keyhole.lab.thresholds.schedule import Online as Online
from keyhole.lab.thresholds.schedule import Schedule as Schedule
from keyhole.lab.thresholds.schedule import is_shared as is_shared
from keyhole.lab.thresholds.schedule import schedule_from_record as schedule_from_record
from keyhole.lab.thresholds.step_budgets import Attempt as Attempt
from keyhole.lab.thresholds.step_budgets import sweep_by_steps as sweep_by_steps
from keyhole.lab.thresholds.sweeps import Sweep as Sweep
from keyhole.lab.thresholds.sweeps import SweepPlan as SweepPlan
from keyhole.lab.thresholds.sweeps import replay as replay
from keyhole.lab.thresholds.sweeps import sweep as sweep
from keyhole.lab.thresholds.threshold import Threshold as Threshold
from keyhole.lab.thresholds.threshold import estimate_threshold as estimate_threshold
