"""The steps of an iteration: how the likelihood grew."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._axes import color, make_axes, note, whole_ticks
from ._offered import shows


@shows("the steps of an iteration", lambda model: len(getattr(model, "loglike_", ())) > 1)
def convergence(model: Any, *, gap: bool = False, ax: Any = None) -> Any:
    """The log-likelihood at each step of the fit (EM, Newton's method, ICA).

    Parameters
    ----------
    model : fitted PPCA, FactorAnalysis or ICA
        A PPCA of complete rows is solved in closed form, without steps.
    gap : bool
        Whether to draw what was still missing to the last value, on a logarithmic axis. A straight line means that
        each step leaves the same fraction of the gap.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import ICA
    >>> sources = np.random.default_rng(0).laplace(size=(300, 2))
    >>> X = sources @ np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> ica = ICA().fit(X)
    >>> ax = ica.plot.convergence()
    >>> ax.get_xlabel()
    'step'
    """
    values = np.asarray(model.loglike_, dtype=float)
    steps = np.arange(len(values))
    ax = make_axes(ax)
    look = {"color": color(0), "marker": "o", "markersize": 3 if len(values) > 40 else 5}
    if gap:
        rest = values[-1] - values
        ax.semilogy(steps[rest > 0], rest[rest > 0], **look)
        ax.set_ylabel("log-likelihood still missing")
    else:
        ax.plot(steps, values, **look)
        ax.set_ylabel("log-likelihood")
        # Whole numbers at the ticks, not differences from a number in the corner.
        ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("step")
    whole_ticks(ax.xaxis)
    status = model.status_.name.lower().replace("_", " ")
    note(ax, [f"{model.solver_}: {status} after {len(values) - 1} steps"])
    return ax
