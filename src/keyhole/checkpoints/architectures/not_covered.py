"""What norms of W_QK and W_OV leave out of a model, each part with the reason."""

from keyhole.checkpoints.architectures.placing import Placed
from keyhole.checkpoints.architectures.settings import NORM_KINDS, positions_of
from keyhole.checkpoints.checkpoint import NotCovered, Sizes


def not_covered(placed: Placed, sizes: Sizes) -> list[NotCovered]:
    """What norms of W_QK and W_OV leave out, each with the reason."""
    layer, config = placed.layers[0], placed.files.config
    parts = []
    biased = [
        role for role in ("query", "key", "value", "qkv", "output") if role in layer and layer[role].bias is not None
    ]
    if biased:
        what = "queries, keys and values" if "qkv" in biased else ", ".join(biased)
        parts.append(
            NotCovered(f"biases ({what})", "they add constants to scores and outputs; norms are of the matrices")
        )
    norms = [role for role in ("attention_norm", "feedforward_norm") if role in layer]
    if norms:
        kind = NORM_KINDS.get(placed.architecture.norm, placed.architecture.norm)
        parts.append(
            NotCovered(
                f"{kind} gains",
                "they scale rows between the matrices and are not folded into them; and such a norm has no Lipschitz "
                "constant free of its epsilon",
            )
        )
    if "query_norm" in layer:
        parts.append(NotCovered("norms of queries and keys", "they bound the scores, whatever W_QK is"))
    positions = positions_of(placed)
    if positions.kind == "rotary":
        parts.append(
            NotCovered(
                "rotary positions",
                "a rotation stands between W_Q and W_K; W_QK is that of a token and itself, distance 0",
            )
        )
    if "inner" in layer:
        parts.append(NotCovered("feed-forward parts", "no bound here has them between layers"))
    if config.get("sliding_window"):
        parts.append(NotCovered("a sliding window", "it hides distant keys, which norms do not see"))
    crossed = [each.name for each in placed.unused if each.reason.startswith("cross-attention")]
    if crossed:
        parts.append(NotCovered("cross-attention", f"{crossed[0]} and others: keys of another sequence"))
    if sizes.key_value_heads < sizes.heads:
        parts.append(
            NotCovered(
                "sharing of keys and values",
                f"{sizes.heads} heads share {sizes.key_value_heads} keys and values; each counts as if it had its own",
            )
        )
    return parts
