"""Plans: sweeps with every setting spelled out, as files that repeat them, and the rows of their finished runs."""

from keyhole.lab.plans.plan import Plan as Plan
from keyhole.lab.plans.plan import read_plan as read_plan
from keyhole.lab.plans.plan import write_plan as write_plan
from keyhole.lab.plans.prediction import Prediction as Prediction
from keyhole.lab.plans.prediction import predict_longest as predict_longest
from keyhole.lab.plans.rows import export_rows as export_rows
from keyhole.lab.plans.rows import import_rows as import_rows
from keyhole.lab.plans.rows import rows_path as rows_path
