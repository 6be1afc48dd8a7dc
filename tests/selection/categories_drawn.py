"""Tables with categories, with and without relations between their columns, and models of them."""

import numpy as np
import pandas as pd

from lowdim import FAMD, MCA, MFA


def related(n=200, seed=0, noise=0.7):
    """Columns a, b, c and d of one hidden variable, and columns e, f that are related to nothing."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)

    def measured():
        return z + noise * rng.normal(size=n)

    return pd.DataFrame(
        {
            "a": np.where(measured() > 0, "yes", "no"),
            "b": np.where(measured() > 0.5, "red", rng.choice(["blue", "green"], n)),
            "c": measured(),
            "d": measured(),
            "e": rng.choice(["p", "q", "r"], n, p=[0.6, 0.3, 0.1]),
            "f": rng.normal(size=n),
        }
    )


def unrelated(n, seed):
    """Independent columns, some of them far from Gaussian or from equal shares."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.choice(["x", "y", "z"], n),
            "b": rng.choice(["u", "v"], n, p=[0.85, 0.15]),
            "c": rng.exponential(size=n),
            "e": rng.choice(["p", "q", "r"], n),
        }
    )


def with_missing(table, seed=0):
    """The same table with missing entries in its first column."""
    table = table.copy()
    table.loc[np.random.default_rng(seed).choice(len(table), len(table) // 6, replace=False), "a"] = None
    return table


GROUPS = {"first": ["a", "c"], "second": ["b", "d"], "third": ["e", "f"]}
#: Models for the table `related`, by name.
MODELS = {
    "MCA": MCA(2, supplementary=["c", "d", "f"]),
    "FAMD": FAMD(2),
    "FAMD passive": FAMD(2, missing="passive", supplementary=["e"]),
    "MFA": MFA(2, groups=GROUPS),
}
