"""Small random models in GPT-2's layout, written without torch; and the logits they have, computed from the text."""

import json

import numpy as np
from safetensors.numpy import save_file

VOCABULARY = {"0": 0, "1": 1, "BOS": 2, "SEP": 3, "no": 4}


def write_gpt2(folder, *, seed=0, width=8, heads=2, positions=12, layers=1, scale=1.0, **more):
    """Write a folder with config.json, model.safetensors and vocab.json; the tensors come back."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return (scale * rng.normal(size=shape) / np.sqrt(shape[0] if len(shape) > 1 else 4)).astype(np.float32)

    tensors = {"wte.weight": draw(len(VOCABULARY), width) * 3, "wpe.weight": draw(positions, width)}
    for layer in range(layers):
        block = f"h.{layer}."
        sides = {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width)}
        sides |= {"mlp.c_fc": (width, 4 * width), "mlp.c_proj": (4 * width, width)}
        for name, shape in sides.items():
            tensors |= {f"{block}{name}.weight": draw(*shape), f"{block}{name}.bias": draw(shape[1])}
        for name in ("ln_1", "ln_2"):
            tensors |= {f"{block}{name}.weight": 1 + draw(width), f"{block}{name}.bias": draw(width)}
    tensors |= {"ln_f.weight": 1 + draw(width), "ln_f.bias": draw(width)}
    folder.mkdir(parents=True, exist_ok=True)
    save_file({f"transformer.{name}": tensor for name, tensor in tensors.items()}, folder / "model.safetensors")
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": width, "n_head": heads}
    config |= {"n_layer": layers, "n_positions": positions, "vocab_size": len(VOCABULARY)}
    config |= {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, **more}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.json").write_text(json.dumps(VOCABULARY))
    return tensors


def logits(tensors, tokens, heads=2):
    """The logits after the last token, as the paper of GPT-2 has them, in double precision."""
    t = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}

    def norm(x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return centred / deviation * t[f"{name}.weight"] + t[f"{name}.bias"]

    def linear(x, name):
        return x @ t[f"{name}.weight"] + t[f"{name}.bias"]

    x = t["wte.weight"][list(tokens)] + t["wpe.weight"][: len(tokens)]
    q, k, v = np.split(linear(norm(x, "h.0.ln_1"), "h.0.attn.c_attn"), 3, axis=-1)
    mixed = []
    for part in range(heads):
        some = slice(part * q.shape[1] // heads, (part + 1) * q.shape[1] // heads)
        scores = k[:, some] @ q[-1, some] / np.sqrt(q.shape[1] // heads)
        weights = np.exp(scores - scores.max())
        mixed.append(weights @ v[:, some] / weights.sum())
    row = x[-1] + linear(np.concatenate(mixed), "h.0.attn.c_proj")
    hidden = linear(norm(row, "h.0.ln_2"), "h.0.mlp.c_fc")
    hidden = hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3))) / 2
    row = row + linear(hidden, "h.0.mlp.c_proj")
    return norm(row, "ln_f") @ t["wte.weight"].T
