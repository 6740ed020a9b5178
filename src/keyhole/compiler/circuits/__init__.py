"""A circuit in, a transformer of several layers or steps out, with a proof gate by gate."""

from keyhole.compiler.circuits.dense import DenseCircuit as DenseCircuit
from keyhole.compiler.circuits.dense import to_dense as to_dense
from keyhole.compiler.circuits.export import circuit_to_lens as circuit_to_lens
from keyhole.compiler.circuits.export import circuit_torch_source as circuit_torch_source
from keyhole.compiler.circuits.formats import proved_formats as proved_formats
from keyhole.compiler.circuits.model_file import inspect_circuit as inspect_circuit
from keyhole.compiler.circuits.model_file import is_circuit as is_circuit
from keyhole.compiler.circuits.model_file import load_circuit as load_circuit
from keyhole.compiler.circuits.model_file import save_circuit as save_circuit
from keyhole.compiler.circuits.norms import LayerNorms as LayerNorms
from keyhole.compiler.circuits.norms import layer_norms as layer_norms
from keyhole.compiler.circuits.plan import CircuitPlan as CircuitPlan
from keyhole.compiler.circuits.plan import Mode as Mode
from keyhole.compiler.circuits.plan import circuit_plan as circuit_plan
from keyhole.compiler.circuits.proof import CircuitProof as CircuitProof
from keyhole.compiler.circuits.proof import prove_circuit as prove_circuit
from keyhole.compiler.circuits.tables import slot_tables as slot_tables
from keyhole.compiler.circuits.tables import write_steps as write_steps
