"""Shrinkage intensities read off moments: how far to move a covariance towards its average eigenvalue.

Both shrink S to (1 - a) S + a (tr S / p) I; here the intensity `a`, between 0 and 1, for S with divisor n.
"""

from __future__ import annotations

from typing import Any

from .._xp import namespace
from ..solvers import Spectrum


def ledoit_wolf(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """min(b, d) / d with d = |S - mu I|^2 / p and b = (fourth / n - |S|^2) / (n p), mu = tr S / p [1]_.

    `fourth` is sum_i |x_i - mean|^4 / n-free, as kept by FourthMoments.

    References
    ----------
    .. [1] Ledoit, Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, lemmas 3.2-3.4.
    """
    assert fourth is not None
    n = spectrum.weight
    trace, squares = _traces(spectrum)
    distance = squares - trace * trace / p
    spread = (fourth / n - squares) / n
    return 0.0 if distance <= 0.0 else min(max(spread, 0.0), distance) / distance


def oas(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """The oracle-approximating intensity [1]_, eq. 23.

    References
    ----------
    .. [1] Chen, Wiesel, Eldar, Hero (2010), Shrinkage algorithms for MMSE covariance estimation.
    """
    n = spectrum.weight
    trace, squares = _traces(spectrum)
    number = (1.0 - 2.0 / p) * squares + trace * trace
    denominator = (n + 1.0 - 2.0 / p) * (squares - trace * trace / p)
    return 1.0 if denominator <= 0.0 else min(number / denominator, 1.0)


def _traces(spectrum: Spectrum) -> tuple[float, float]:
    """tr S and tr S^2 of the covariance with divisor n."""
    xp = namespace(spectrum.values)
    values = spectrum.values / spectrum.weight
    squares = float(xp.sum(values * values))
    tail = spectrum.tail.total / spectrum.weight
    if tail > 0.0:
        assert spectrum.tail.squares is not None, "Whitening asks solvers for all eigenvalues"
        squares += tail * tail * spectrum.tail.squares
    return spectrum.total / spectrum.weight, squares


#: Shrinkages by name.
SHRINKAGE: dict[str, Any] = {"ledoit-wolf": ledoit_wolf, "oas": oas}
