"""How often each rule finds the true number of components: the table of docs/choosing_k.md.

    python -m benchmarks.choose_k

The rows have Gaussian scores along K random orthonormal directions, plus noise. Each cell of the printed table gives
the share of 100 random tables for which the rule found K, and the median of its answers. This takes a few seconds.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from lowdim.selection import RULES, choose_n_components

REPETITIONS = 100
SEED = 0

Noise = Callable[[np.random.Generator, int, int], np.ndarray]


def white(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.standard_normal((n, p))


def neighbours(rng: np.random.Generator, n: int, p: int, rho: float = 0.5) -> np.ndarray:
    """AR(1) noise along the columns: the noise of columns i and j has correlation rho^|i - j|."""
    E = rng.standard_normal((n, p))
    for j in range(1, p):
        E[:, j] = rho * E[:, j - 1] + np.sqrt(1 - rho**2) * E[:, j]
    return E


def heavy(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Noise with Student's t distribution with 3 degrees of freedom, scaled to variance 1."""
    return rng.standard_t(3, (n, p)) / np.sqrt(3)


def table(rng: np.random.Generator, n: int, p: int, variances: np.ndarray, noise: Noise) -> np.ndarray:
    """Rows whose components have these variances, plus noise of variance 1."""
    directions = np.linalg.qr(rng.standard_normal((p, len(variances))))[0]
    return rng.standard_normal((n, len(variances))) * np.sqrt(variances) @ directions.T + noise(rng, n, p)


def weak_variances(n: int, p: int, times: np.ndarray) -> np.ndarray:
    """`times` sqrt(p / n), the variance below which a component cannot be seen in the eigenvalues."""
    return times * np.sqrt(p / n)


STRONG = np.array([9.0, 7.0, 5.0, 3.0])
SCENES: dict[str, tuple[int, int, np.ndarray, Noise]] = {
    "strong": (500, 20, STRONG, white),
    "weak": (500, 20, weak_variances(500, 20, np.linspace(2.5, 2.0, 4)), white),
    "very weak": (500, 20, weak_variances(500, 20, np.linspace(2.0, 1.6, 4)), white),
    "correlated noise": (500, 20, STRONG, neighbours),
    "more correlated noise": (500, 20, STRONG, partial(neighbours, rho=0.7)),
    "heavy tails": (500, 20, STRONG, heavy),
    "n < p": (60, 200, 5 * STRONG, white),
    "no signal": (500, 20, STRONG[:0], white),
}


def answers(n: int, p: int, variances: np.ndarray, noise: Noise) -> dict[str, np.ndarray]:
    """The answers of each rule for 100 tables; rules that are not available are left out."""
    rng = np.random.default_rng(SEED)
    found: dict[str, list[int]] = {}
    for _ in range(REPETITIONS):
        choices = choose_n_components(table(rng, n, p, variances, noise), n_resamples=30)
        for name, choice in choices.items():
            if choice.k is not None:
                found.setdefault(name, []).append(choice.k)
    return {name: np.array(ks) for name, ks in found.items()}


def main() -> None:
    results = {scene: answers(*setting) for scene, setting in SCENES.items()}
    heads = [f"{scene}, K = {len(SCENES[scene][2])}" for scene in SCENES]
    print(f"| rule | {' | '.join(heads)} |")
    print("| --- |" + " --- |" * len(heads))
    for name in RULES:
        cells = []
        for scene, (_, _, variances, _) in SCENES.items():
            ks = results[scene].get(name)
            cells.append("-" if ks is None else f"{np.mean(ks == len(variances)):.0%} ({np.median(ks):g})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
