"""Train a small one-layer model in GPT-2's layout with plain PyTorch, to practise `keyhole prove` on.

    python examples/zoo/train.py majority --width 16 --heads 1 --longest 101 --out zoo/majority

A word over {0, 1} is shown as  BOS x_1 … x_n SEP ; the answer is the token, 0 or 1, that the model prefers after SEP.
The folder gets `config.json` and `model.safetensors` under the names of `transformers`, whose GPT2LMHeadModel reads it.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional

ZERO, ONE, BOS, SEP = range(4)
TASKS = ("majority", "threshold", "more", "first", "and")


def answers(task: str, words: np.ndarray) -> np.ndarray:
    """The right answer to each word: most symbols are 1, at least three are, more of them in the first half, …"""
    length = words.shape[1]
    half = (length + 1) // 2
    return {
        "majority": 2 * words.sum(axis=1) > length,
        "threshold": words.sum(axis=1) >= 3,
        "more": words[:, :half].sum(axis=1) > words[:, half:].sum(axis=1),
        "first": words[:, 0] == 1,
        "and": (words[:, 0] == 1) & (words[:, min(2, length - 1)] == 1),
    }[task]


def draw(task: str, count: int, length: int, rng: np.random.Generator) -> np.ndarray:
    """Words of all shares of ones, half of them near the boundary of a majority, where the answer is hard."""
    share = np.where(rng.random(count) < 0.5, 0.5, rng.random(count))
    words = (rng.random((count, length)) < share[:, None]).astype(np.int64)
    if task == "threshold":  # few ones
        few = rng.integers(0, 7, count) / length
        words = (rng.random((count, length)) < few[:, None]).astype(np.int64)
    if task == "and":  # both read symbols are often 1
        words[: count // 2, 0] = 1
        words[: count // 2, min(2, length - 1)] = rng.integers(0, 2, count // 2)
    return words


class OneLayer(nn.Module):
    """GPT-2 with one block: learned positions, norms before each part, GELU in its tanh form, tied unembedding."""

    def __init__(self, width: int, heads: int, positions: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.wte, self.wpe = nn.Embedding(4, width), nn.Embedding(positions, width)
        self.ln_1, self.ln_2, self.ln_f = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=0.1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits after the last token."""
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        q, k, v = self.attn(self.ln_1(x)).split(self.width, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q[:, -1:], k, v))
        mixed = functional.scaled_dot_product_attention(q, k, v)  # the last token sees all tokens: no mask
        x = x[:, -1] + self.proj(mixed.transpose(1, 2).flatten(-2)[:, 0])
        x = x + self.out(functional.gelu(self.fc(self.ln_2(x)), approximate="tanh"))
        return self.ln_f(x) @ self.wte.weight.T


def framed(words: np.ndarray) -> torch.Tensor:
    """BOS, the word, SEP."""
    ends = np.full((len(words), 1), BOS), np.full((len(words), 1), SEP)
    return torch.tensor(np.concatenate([ends[0], words, ends[1]], axis=1))


def train(task: str, *, width: int, heads: int, longest: int, steps: int, seed: int, batch: int = 64) -> OneLayer:
    """Adam at a rate that falls to zero, on words of every length up to the longest."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = OneLayer(width, heads, longest + 2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, steps)
    for step in range(1, steps + 1):
        words = draw(task, batch, int(rng.integers(1, longest + 1)), rng)
        logits = model(framed(words))[:, [ZERO, ONE]]
        loss = functional.cross_entropy(logits, torch.tensor(answers(task, words).astype(np.int64)))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % max(1, steps // 10) == 0:
            print(f"step {step} of {steps}: loss {loss.item():.4f}", flush=True)
    return model


def save(model: OneLayer, folder: Path, positions: int) -> None:
    """The weights under the names, and in the orientation, of `transformers`."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    block = "transformer.h.0."
    names = {"attn": "attn.c_attn", "proj": "attn.c_proj", "fc": "mlp.c_fc", "out": "mlp.c_proj"}
    tensors = {f"transformer.{name}.weight": state[f"{name}.weight"] for name in ("wte", "wpe")}
    for name, stored in names.items():  # GPT-2 keeps (inputs, outputs)
        tensors[f"{block}{stored}.weight"] = np.ascontiguousarray(state[f"{name}.weight"].T)
        tensors[f"{block}{stored}.bias"] = state[f"{name}.bias"]
    for name in ("ln_1", "ln_2"):
        tensors |= {f"{block}{name}.{part}": state[f"{name}.{part}"] for part in ("weight", "bias")}
    tensors |= {f"transformer.ln_f.{part}": state[f"ln_f.{part}"] for part in ("weight", "bias")}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": 4,
        "n_positions": positions,
        "n_embd": model.width,
        "n_layer": 1,
        "n_head": model.heads,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": True,
        "bos_token_id": BOS,
        "eos_token_id": SEP,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.json").write_text(json.dumps({"0": ZERO, "1": ONE, "BOS": BOS, "SEP": SEP}) + "\n")


def errors(model: OneLayer, task: str, length: int, count: int, rng: np.random.Generator) -> int:
    """How many of so many words, half uniform and half near the boundary, are answered wrongly."""
    words = np.concatenate([rng.integers(0, 2, (count // 2, length)), draw(task, count - count // 2, length, rng)])
    with torch.no_grad():
        logits = model(framed(words))[:, [ZERO, ONE]]
    return int(((logits[:, 1] > logits[:, 0]).numpy() != answers(task, words)).sum())


def main() -> None:
    """Train, test on random words, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--longest", type=int, default=101)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    model = train(
        asked.task, width=asked.width, heads=asked.heads, longest=asked.longest, steps=asked.steps, seed=asked.seed
    )
    rng = np.random.default_rng(asked.seed + 1)
    for length in (5, 11, 21, 51, 101):
        if length <= asked.longest:
            print(
                f"length {length}: {errors(model, asked.task, length, 10000, rng)} of 10000 words are answered wrongly"
            )
    save(model, asked.out, asked.longest + 2)
    print(f"saved {asked.out}")


if __name__ == "__main__":
    main()
