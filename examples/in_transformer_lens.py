"""Open exact weights in PyTorch and in TransformerLens, and look at the attention that was proved.

Run with: python examples/in_transformer_lens.py (needs torch and transformer-lens)
"""

import torch

import keyhole


def main() -> None:
    """Print the outputs of both models, and the attention of [CLS] on the relevant positions."""
    compiled = keyhole.compile("x3 & x17", 32)
    bits = torch.zeros(3, 32, dtype=torch.long)
    bits[1, 3] = bits[2, 3] = bits[2, 17] = 1
    module = compiled.to_torch()
    print("torch             ", [round(value, 6) for value in module(bits).tolist()])
    lens = compiled.to_lens()
    logits, cache = lens.run_with_cache(torch.from_numpy(compiled.token_ids(bits.numpy())))
    print("transformer_lens  ", [round(value, 6) for value in logits[:, -1, 0].tolist()])
    pattern = cache["blocks.0.attn.hook_pattern"][2, 0, -1]  # the last row is [CLS]
    print("attention on x3, x17", [round(float(pattern[place]), 6) for place in (3, 17)])
    print(f"proved: {compiled.proof.margin:.6f} from 0 on all {compiled.inputs_covered} inputs")


if __name__ == "__main__":
    main()
