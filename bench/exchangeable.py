"""How often `keyhole exchangeable` rejects: on laws that it should accept, and on others, beside a standard test.

The standard test reorders the tokens within sequences and asks four questions at a quarter of the level each: the
autocorrelations at lags 1 to 3, of letters as of their numbers, and the sum over places of the squares by which their
means differ. Laws that are not exchangeable are of a strength at which one test or the other misses some.

Run it with `python bench/exchangeable.py [--sets 200] [--seed 0]`: a few minutes.
"""

import argparse
from collections.abc import Callable

import numpy as np

import keyhole
from keyhole.latent import FiniteModel, GaussianLocation, MarkovChain, Polya, Urn
from keyhole.latent.exchangeability import repeated_sequences

Draw = Callable[[np.random.Generator], np.ndarray]
PERMUTATIONS, LEVEL = 199, 0.05


def repeating(lag: int, stay: float, sequences: int = 20, length: int = 12) -> Draw:
    """Letters that repeat the one so far before with this chance, and else are uniform."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        tokens = rng.integers(4, size=(sequences, length))
        for t in range(lag, length):
            stays = rng.random(sequences) < stay
            tokens[stays, t] = tokens[stays, t - lag]
        return tokens

    return draw


def autoregressive(correlation: float) -> Draw:
    """Normal tokens, each correlated with the one before."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        tokens = rng.normal(size=(20, 12))
        for t in range(1, 12):
            tokens[:, t] = correlation * tokens[:, t - 1] + np.sqrt(1 - correlation**2) * tokens[:, t]
        return tokens

    return draw


def parities(rng: np.random.Generator) -> np.ndarray:
    """Fair bits, of which every third is the parity of the two before."""
    bits = rng.integers(2, size=(60, 12))
    bits[:, 2::3] = bits[:, 0::3] ^ bits[:, 1::3]
    return bits


def rare(chance: float) -> FiniteModel:
    """Two letters by a fair coin under a rare latent value, a third under the common one."""
    return FiniteModel(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]), np.array([chance, 1 - chance]))


def uniform(letters: int) -> FiniteModel:
    """Independent letters, equally likely."""
    return FiniteModel(np.full((letters, 1), 1 / letters), np.ones(1))


NULLS: dict[str, Draw] = {
    "independent letters": lambda rng: uniform(4).sample(100, 8, rng).tokens,
    "skewed letters": lambda rng: rng.choice(4, p=[0.7, 0.1, 0.1, 0.1], size=(60, 8)),
    "Pólya letters": lambda rng: Polya(np.full(4, 0.7)).sample(40, 12, rng).tokens,
    "a latent 1 in 20": lambda rng: rare(0.05).sample(100, 8, rng).tokens,
    "a latent 1 in 50": lambda rng: rare(0.02).sample(200, 8, rng).tokens,
    "200 letters": lambda rng: uniform(200).sample(60, 8, rng).tokens,
    "length 400": lambda rng: Polya(np.full(4, 0.7)).sample(8, 400, rng).tokens,
    "four sequences": lambda rng: uniform(4).sample(4, 12, rng).tokens,
    "Gaussian location": lambda rng: GaussianLocation(np.zeros(1)).sample(20, 12, rng).tokens[:, :, 0],
    "Cauchy with scales": lambda rng: rng.standard_cauchy((20, 12)) * rng.exponential(size=(20, 1)),
    "ties": lambda rng: np.round(rng.normal(size=(20, 12))),
    "normals of random scale": lambda rng: rng.normal(size=(40, 8)) * rng.exponential(size=(40, 1)),
    "vectors": lambda rng: GaussianLocation(np.zeros(3)).sample(20, 8, rng).tokens,
}
OTHERS: dict[str, Draw] = {
    "chain, stays .4": lambda rng: MarkovChain(4, 0.4).sample(20, 12, rng).tokens,
    "chain, stays .2": lambda rng: MarkovChain(4, 0.2).sample(20, 12, rng).tokens,
    "AR(1), .3": autoregressive(0.3),
    "lag 2, .4": repeating(2, 0.4),
    "lag 3, .4": repeating(3, 0.4),
    "lag 5, .4": repeating(5, 0.4),
    "trend": lambda rng: rng.normal(size=(20, 12)) + 0.4 * np.linspace(-1, 1, 12),
    "trend of letters": lambda rng: (rng.random((40, 12)) < 0.5 + 0.14 * np.linspace(-1, 1, 12)).astype(int),
    "variance × 2, one place": lambda rng: rng.normal(size=(60, 12)) * np.where(np.arange(12) == 0, 2**0.5, 1),
    "variance × 2, second half": lambda rng: rng.normal(size=(20, 12)) * np.where(np.arange(12) > 5, 2**0.5, 1),
    "an urn": lambda rng: Urn(np.full(4, 4)).sample(100, 8, rng).tokens,
    "parities of neighbours": parities,
}


def standard(tokens: np.ndarray, rng: np.random.Generator) -> bool:
    """The standard test, of letters or reals."""
    tokens = tokens[repeated_sequences(tokens).kept].astype(float)
    own = _four(tokens[None])[0]
    reordered = rng.permuted(np.broadcast_to(tokens, (PERMUTATIONS, *tokens.shape)), axis=2)
    p = (1 + (_four(reordered) >= own - 1e-9).sum(axis=0)) / (PERMUTATIONS + 1)
    return bool(p.min() <= LEVEL / 4)


def _four(stack: np.ndarray) -> np.ndarray:
    centred = stack - stack.mean(axis=2, keepdims=True)
    lags = [np.abs((centred[:, :, k:] * centred[:, :, :-k]).sum(axis=(1, 2)) - _pull(centred, k)) for k in (1, 2, 3)]
    places = ((stack.mean(axis=1) - stack.mean(axis=(1, 2))[:, None]) ** 2).sum(axis=1)
    return np.stack([*lags, places], axis=1)


def _pull(centred: np.ndarray, lag: int) -> np.ndarray:
    """The mean of the products over all orders: centring pulls it below 0."""
    length = centred.shape[2]
    return -(centred**2).sum(axis=(1, 2)) * (length - lag) / (length * (length - 1))


def rates(draw: Draw, sets: int, seed: int) -> tuple[float, float]:
    """The shares of tables rejected by `exchangeable`, and by the standard test; of vectors by the first alone."""
    rng = np.random.default_rng(seed)
    own = other = 0
    for number in range(sets):
        tokens = draw(rng)
        own += keyhole.exchangeable(tokens, permutations=PERMUTATIONS, seed=number).rejected
        other += tokens.ndim == 2 and standard(tokens, rng)
    return own / sets, other / sets


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200, help="tables of each law")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for title, laws in (("laws with a latent variable", NULLS), ("others", OTHERS)):
        print(f"\nshare rejected at {LEVEL:g}, of {asked.sets} tables\n{title:28s}exchangeable  standard")
        for place, (name, draw) in enumerate(laws.items()):
            own, other = rates(draw, asked.sets, asked.seed + place)
            print(f"  {name:26s}{own:12.3f}{'–' if name == 'vectors' else f'{other:.3f}':>10s}", flush=True)


if __name__ == "__main__":
    main()
