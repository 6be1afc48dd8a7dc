"""Shrinkage intensities of a covariance matrix.

Both functions compute the intensity `a`, between 0 and 1, with which the covariance S (divisor n) is shrunk towards its
average eigenvalue: (1 - a) S + a (tr S / p) I.
"""

from __future__ import annotations

from typing import Any

from ..results import Spectrum


def ledoit_wolf(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """min(b, d) / d with d = |S - mu I|^2 / p and b = (fourth / n - |S|^2) / (n p), mu = tr S / p [1]_.

    `fourth` is sum_i |x_i - mean|^4, as computed by FourthMoments. The computation is in units of tr S.

    References
    ----------
    .. [1] Ledoit, Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, lemmas 3.2-3.4.
    """
    assert fourth is not None
    n, trace = spectrum.weight, spectrum.total / spectrum.weight
    squares = _squares(spectrum)
    distance = squares - 1 / p
    spread = (fourth / n / trace / trace - squares) / n if trace > 0.0 else 0.0
    return 0.0 if distance <= 0.0 else min(max(spread, 0.0), distance) / distance


def oas(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """The oracle-approximating intensity [1]_, eq. 23.

    References
    ----------
    .. [1] Chen, Wiesel, Eldar, Hero (2010), Shrinkage algorithms for MMSE covariance estimation.
    """
    n = spectrum.weight
    squares = _squares(spectrum)
    number = (1.0 - 2.0 / p) * squares + 1.0
    denominator = (n + 1.0 - 2.0 / p) * (squares - 1 / p)
    return 1.0 if denominator <= 0.0 else min(number / denominator, 1.0)


def _squares(spectrum: Spectrum) -> float:
    """tr S^2 / (tr S)^2, which is all that the formulas need, and cannot overflow."""
    everything = spectrum.tail.plus(spectrum.values)
    assert everything.squares is not None, "Whitening requests all eigenvalues"
    return everything.squares


#: Shrinkages by name.
SHRINKAGE: dict[str, Any] = {"ledoit-wolf": ledoit_wolf, "oas": oas}
