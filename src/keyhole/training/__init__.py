"""Tasks with a hidden function, and the learners that look for it from samples."""

from keyhole.training.task import BLOCK as BLOCK
from keyhole.training.task import PROBE as PROBE
from keyhole.training.task import Examples as Examples
from keyhole.training.task import Instance as Instance
from keyhole.training.task import Notice as Notice
from keyhole.training.task import Observer as Observer
from keyhole.training.task import ProblemSize as ProblemSize
from keyhole.training.task import SampleSource as SampleSource
from keyhole.training.task import SparseTask as SparseTask
from keyhole.training.task import Task as Task
from keyhole.training.task import task_from_record as task_from_record
