"""BIC and AIC of fits with 0, 1, 2, ... components, for models that need one fit for each number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

#: Without a bound on the likelihood, the curve ends after so many entries that are no better than the best.
_NO_BETTER = 3


def penalised_curve(
    name: str,
    n: float,
    loglike_of: Callable[[int], float | None],
    n_parameters: Callable[[int], int],
    most: int,
    bound: float | None,
) -> np.ndarray:
    """price * (number of parameters) - 2 ln L for k = 0, 1, ... components; the price is 2 (`name` "aic") or ln n.

    `loglike_of(k)` fits k components, or returns None if that cannot be done, which ends the curve. It also ends after
    `most` components, and where further components cost more than they could gain: if `bound` is an upper bound of all
    log-likelihoods, that is certain; otherwise when the last three were no better than the best.
    """
    price = 2.0 if name == "aic" else math.log(n)
    curve: list[float] = []
    for k in range(most + 1):
        if bound is not None and curve and price * n_parameters(k) - 2.0 * bound > min(curve):
            break
        if bound is None and k > int(np.argmin(curve or [0.0])) + _NO_BETTER:
            break
        loglike = loglike_of(k)
        if loglike is None:
            break
        curve.append(price * n_parameters(k) - 2.0 * loglike)
    return np.array(curve)
