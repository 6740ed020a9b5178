from keyhole.checkpoints.weight_files.folder import ENDINGS as ENDINGS
from keyhole.checkpoints.weight_files.folder import WeightFiles as WeightFiles
from keyhole.checkpoints.weight_files.folder import open_weights as open_weights
from keyhole.checkpoints.weight_files.stored_tensor import WEIGHTS as WEIGHTS
from keyhole.checkpoints.weight_files.stored_tensor import StoredTensor as StoredTensor
from keyhole.checkpoints.weight_files.stored_tensor import in_memory as in_memory
