"""Tables with and without signal, and helpers that apply the rules to them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lowdim.reading import summarize
from lowdim.selection import RULES, Eigenvalues
from lowdim.summaries import Moments

#: All rules that are computed from eigenvalues.
NAMES = [name for name, rule in RULES.items() if rule.function is not None]
each_rule = pytest.mark.parametrize("name", NAMES)


def eigenvalues(X, scale=False, ddof=1, summary=Moments, weights=None):
    return Eigenvalues.from_summary(summarize(X, summary, weights=weights), scale, ddof)


def ask(name, e, **options):
    """K and the curve of the rule of this name; without options, simulations are few."""
    few = {"n_resamples": 20} if "n_resamples" in RULES[name].options and not options else {}
    return RULES[name].function(e, **few, **options)


def with_signal(n, p, k, strength=3.0, seed=0):
    """Rows with k directions of standard deviation of about `strength`, in white noise."""
    rng = np.random.default_rng(seed)
    W = np.linalg.qr(rng.standard_normal((p, k)))[0]
    return rng.standard_normal((n, k)) * strength * np.linspace(1.5, 1, k) @ W.T + rng.standard_normal((n, p))


TALL = with_signal(120, 9, 3)
DIGITS = load_digits().data[:400, 10:30]
WIDE = with_signal(14, 40, 2, 8.0)
UNITS = np.array([1.0, 50.0, 0.02, 3.0, 1.0, 7.0, 1e3, 1.0, 0.5])
