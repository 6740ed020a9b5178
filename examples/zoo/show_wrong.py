"""A model that passes 100,000 random tests, and a word on which it is wrong, shown by `transformers` itself.

    python examples/zoo/train.py majority --out zoo/majority
    python examples/zoo/show_wrong.py zoo/majority --claim majority --length 75

Random words of the length are put to the model in PyTorch; `keyhole prove` then looks for a wrong word, and
`transformers` reads the same folder and answers it. Nothing of keyhole takes part in that answer.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
import transformers

import keyhole

ZERO, ONE, BOS, SEP = range(4)


def prefers_one(model: torch.nn.Module, words: np.ndarray) -> np.ndarray:
    """Whether the model's logit for 1 after BOS word SEP is above that for 0."""
    ends = np.full((len(words), 1), BOS), np.full((len(words), 1), SEP)
    with torch.no_grad():
        logits = model(torch.tensor(np.concatenate([ends[0], words, ends[1]], axis=1))).logits[:, -1]
    return np.asarray(logits[:, ONE] > logits[:, ZERO])


def main() -> None:
    """Sample, prove, and answer the wrong word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--claim", choices=("majority", "at least 3 of 1"), default="majority")
    parser.add_argument("--length", type=int, default=75)
    parser.add_argument("--samples", type=int, default=100_000)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(asked.folder).eval()
    needed = 3 if asked.claim == "at least 3 of 1" else asked.length // 2 + 1
    rng, errors = np.random.default_rng(0), 0
    for start in range(0, asked.samples, 5000):
        count = min(5000, asked.samples - start)
        share = np.where(rng.random(count) < 0.5, 0.5, rng.random(count))
        words = (rng.random((count, asked.length)) < share[:, None]).astype(np.int64)
        errors += int((prefers_one(model, words) != (words.sum(axis=1) >= needed)).sum())
    print(f"transformers, {asked.samples:,} random words of length {asked.length}: {errors} are answered wrongly")
    found = keyhole.prove_claim(
        asked.folder,
        asked.claim,
        [asked.length],
        words=keyhole.Words(before=["BOS"], read_at="SEP"),
        effort=keyhole.Effort(samples=0),
    )
    row = found.lengths[0]
    print(f"keyhole: {row.name}")
    if row.wrong_numbers is not None:
        word = np.array([row.wrong_numbers[1:-1]])
        wanted, answer = bool(word.sum() >= needed), bool(prefers_one(model, word)[0])
        print(f"the word {''.join(map(str, word[0]))} has {word.sum()} ones: the answer should be {int(wanted)}")
        print(f"transformers answers {int(answer)}: {'right' if answer == wanted else 'WRONG'}")


if __name__ == "__main__":
    main()
