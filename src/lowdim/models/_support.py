"""The support of a density of rows: the components with positive variance, and the variance outside them."""

from __future__ import annotations

from ..errors import RankWarning, no_variance, warn_user


def variance_outside(k: int, p: int, rank: int, noise_variance: float, rank_cut: float) -> float:
    """The variance orthogonal to `k` components of `p` columns; 0 if there is none above rounding.

    `rank` is the number of components with positive variance, `noise_variance` the average variance in the other
    directions, and variances up to `rank_cut` count as zero.
    """
    is_positive = k < p and rank == k and noise_variance > rank_cut
    return float(noise_variance) if is_positive else 0.0


def density_support(p: int, rank: int, outside: float) -> tuple[int, float]:
    """The number of components with positive variance, and the variance orthogonal to all components (may be 0).

    Warns if there are directions of zero variance, since they are left out of the density.
    """
    if rank == 0 and outside == 0.0:
        raise no_variance("a density")
    without = p - rank if outside == 0.0 else 0
    if without:
        warn_user(
            f"{without} of {p} directions have no variance and were left out of the density; keep fewer components "
            "to spread the noise over them.",
            RankWarning,
        )
    return rank, outside
