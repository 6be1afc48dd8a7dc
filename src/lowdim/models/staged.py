"""The models that an iteration goes through: the start, and what each step leads to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from inspect import signature

from sklearn.base import clone

from .._core.types import VectorLike
from ..errors import LowdimWarning, without_warnings
from ..solvers.problem import Status
from ..sources.opening import TableLike
from .base import Model, first_components
from .pls import PLSCanonical, PLSRegression

#: The options of solvers that limit the number of steps. The first that a solver has is used.
_LIMITS = ("steps", "max_steps", "max_iter", "max_epochs")


def staged_fit(
    model: Model, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
) -> Iterator[Model]:
    """Fitted models after each step of the iteration by which a model is fitted; the last is the fit itself.

    For EM, Newton's method and ICA, the first is the start. Krylov and the training of auto-encoders begin with the
    model after one step or epoch. PLS finds its components one after the other: there, the models have 1, 2, ..., K
    components.

    Parameters
    ----------
    model : model
        It is not fitted itself. Its solver has to iterate: for complete rows, PPCA and PCA do so with `solver="em"` and
        `solver="krylov"`.
    X : rows
        As for `fit`; it is read several times.
    y : rows, default=None
        As for `fit`.
    sample_weight : array of shape (n_samples,), or str, default=None
        As for `fit`.

    Yields
    ------
    model
        A fitted model.

    Notes
    -----
    Each model is that of a fit whose solver may take so many steps, so t of them cost t^2 / 2 steps. That is meant for
    small tables, to look at an iteration. Of several starts the best is kept, and which one that is may change from
    step to step: ask for one start, by the option `n_init` of the model or of its solver. Warnings that the iteration
    has not converged are left out, except at the end.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PPCA, staged_fit
    >>> from lowdim.solvers import EM
    >>> em = EM(start="random", accelerate=False, n_init=0, tol=0.05)
    >>> for stage in list(staged_fit(PPCA(1, solver=em), load_iris().data))[:4]:
    ...     print(stage.n_iter_, round(stage.loglike_[-1], 1), round(stage.noise_variance_, 3))
    0 -823.9 0.974
    1 -655.4 0.519
    2 -530.8 0.232
    3 -489.5 0.146
    """
    fitted = clone(model).fit(X, y, sample_weight)
    solver = fitted.plan_.solver
    limit = next((name for name in _LIMITS if getattr(solver, name, None) is not None), None)
    if isinstance(model, PLSRegression | PLSCanonical):
        for k in range(1, fitted.n_components_):
            yield first_components(fitted, k)
    elif limit is None:
        raise ValueError(
            f"{type(model).__name__} is fitted by solver={solver.name!r}, which does not iterate; ask for another "
            "solver, such as 'em' for PPCA or 'krylov' for PCA."
        )
    else:
        # Options of the solver that the model takes too, as ICA does, go with a solver by name.
        own = {option.name for option in fields(solver)}
        options = {name: of.default for name, of in signature(type(model)).parameters.items() if name in own}
        most = getattr(fitted, "n_iter_", getattr(solver, limit))
        for t in range(0 if limit == "max_iter" else 1, most):
            stage = clone(model).set_params(**{**options, "solver": replace(solver, **{limit: t})})
            with without_warnings(LowdimWarning):
                stage.fit(X, y, sample_weight)
            if stage.status_ is Status.CONVERGED:
                break
            yield stage
    yield fitted
