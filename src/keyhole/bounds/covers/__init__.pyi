from keyhole.bounds.covers.deep import deep_cover as deep_cover
from keyhole.bounds.covers.heads import scalar_model_cover as scalar_model_cover
