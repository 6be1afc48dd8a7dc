"""Where a density of rows lives: along how many components there is variance, and how much there is outside them."""

from __future__ import annotations

from ..errors import RankWarning, no_variance, warn_user


def variance_outside(k: int, p: int, rank: int, noise_variance: float, rank_cut: float) -> float:
    """The variance orthogonal to `k` components of `p` columns, 0 where there is none above rounding.

    `rank` of the components have variance, `noise_variance` is the average variance in the other directions, and
    variances up to `rank_cut` are zero as far as the solver can tell.
    """
    is_positive = k < p and rank == k and noise_variance > rank_cut
    return float(noise_variance) if is_positive else 0.0


def density_support(p: int, rank: int, outside: float) -> tuple[int, float]:
    """How many components have variance, and the variance orthogonal to them all (0: none).

    Warns of directions that have no variance, since they are left out of the density.
    """
    if rank == 0:
        raise no_variance("a density")
    without = p - rank if outside == 0.0 else 0
    if without:
        warn_user(
            f"{without} of {p} directions have no variance and were left out of the density; keep fewer components "
            "to spread the noise over them.",
            RankWarning,
        )
    return rank, outside
