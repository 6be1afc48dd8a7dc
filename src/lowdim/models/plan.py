"""Plans: what a model or a solver would do with the rows, without reading them, and where the work is done."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from ..errors import with_present_names
from ..selection.folds import FoldsLike
from ..solvers import spectra
from ..solvers.problem import AnySolver, Plan, is_auto
from ..solvers.spectra import SolverName
from ..solvers.spectra.covariance import Solver
from ..sources.array import ShapedSource
from ..sources.base import Source, Traits
from ..sources.opening import TableLike, can_be_read_once, open_source

if TYPE_CHECKING:
    from .base import Model


@with_present_names
def plan(
    what: Model | AnySolver | tuple[int | None, int],
    X: TableLike | int | None = None,
    y: TableLike | None = None,
    *,
    n_components: int | None = None,
    solver: SolverName | Solver = "auto",
    traits: Traits | None = None,
    cv: FoldsLike | None = None,
) -> Plan:
    """Which solver would run and why, how many passes over the rows it makes, and how many bytes it needs besides them.

    Parameters
    ----------
    what : model, solver, or shape (n, p)
        An unfitted model, such as `PCA(10)`; a solver with its options, such as `Krylov(block=16)`; or the shape of
        the rows for PCA, where n is None for a stream of unknown length.
    X, y : rows, or their shapes, default=None
        What would be passed to `fit`. The rows are opened but not read. A plan would use up the first block of an
        iterator or a reader that can be read only once: pass `lowdim.sources.open_source(X)` both here and to `fit`, or
        pass a shape. If `fit` gathers the rows in memory first, the plan says so. Of a stream that can be read once,
        `fit` looks at the first block, and may take triangle where the plan says covariance. If `what` is a shape, the
        second argument is `n_components`.
    n_components : int, default=None
        Number of components, if `what` is a solver or a shape. None for all of them, which a fraction of variance
        needs as well.
    solver : "auto", a solver's name, or a solver, default="auto"
        Used only if `what` is a shape.
    traits : Traits, default=None
        Properties of the source of the rows (`open_source(X).traits`), used only if `what` is a shape. The default is
        those of a dense array.
    cv : int, labels, splitter, or iterable of pairs, default=None
        If `what` is a model, the plan of `cross_validate` with this `cv` instead of the plan of `fit`.

    Returns
    -------
    Plan
        Can be printed. Whatever `fit` would refuse raises the same error here.

    Examples
    --------
    >>> from lowdim import CCA, PCA, plan
    >>> print(plan((200_000, 256), 10))
    covariance: 1 pass over the rows, about 6.0 MiB beside them; one product of the rows is cheapest for 256 columns
    >>> print(plan(PCA(10), (500, 20_000)))
    gram: 2 passes over the rows, about 0.1 GiB beside them; inner products are cheapest for 500 rows of 20000 columns
    >>> print(plan(PCA(), (60, 5_000), cv=5))
    gram: 1 pass over the rows, about 0.4 MiB beside them; inner products are cheapest for 60 rows of 5000 columns
    """
    if isinstance(what, type):
        raise TypeError(
            f"plan needs a model or a solver, got the class {what.__name__}; pass an instance: {what.__name__}()."
        )
    if isinstance(what, AnySolver):
        sources = [open_source(_rows_or_shape(table)) for table in (X, y) if table is not None]
        if not sources:
            raise TypeError(f"plan({what.name!r}) needs rows, or their shape, as its second argument.")
        return what.plan_sources(sources, n_components)
    if hasattr(what, "fit") and hasattr(what, "plan"):
        model: Any = what
        if n_components is not None or traits is not None or not is_auto(solver):
            raise TypeError(
                "n_components, solver and traits are for shapes and solvers; a model has its own parameters."
            )
        return model.plan(_tables(X), None if y is None else _rows_or_shape(y), **({} if cv is None else {"cv": cv}))
    if cv is not None:
        raise TypeError("cv needs a model, of which cross_validate would be planned: pass one with rows or a shape.")
    shape: Any = what
    size: Any = X if n_components is None else n_components
    return spectra.plan_shape(shape, size, solver=solver, traits=traits)


def _tables(X: Any) -> Any:
    """`X` with shapes as sources, also in a list of tables."""
    if isinstance(X, list) and any(isinstance(A, tuple) or can_be_read_once(A) for A in X):
        return [_rows_or_shape(A) for A in X]
    return _rows_or_shape(X)


def _rows_or_shape(X: Any) -> Any:
    """`X` itself if it is rows, or a source without rows if it is a shape; iterators are refused."""
    if isinstance(X, Source):
        return X
    if isinstance(X, tuple) and len(X) == 2 and all(n is None or isinstance(n, numbers.Integral) for n in X):
        return ShapedSource(X)
    if can_be_read_once(X):
        raise TypeError(
            f"{type(X).__name__} can be read only once, and a plan would use up its first block; pass "
            "lowdim.sources.open_source(X) to both plan and fit, or pass a shape (n, p)."
        )
    return X


def joined_plan(first: Plan, second: Plan, what: str) -> Plan:
    """The plan of a fit in two steps: the solver is that of the second, after `what` by that of the first; passes and
    bytes are the sums of both."""
    why = f"{second.why}, after {what} by {first.solver.name}"
    return Plan(second.solver, first.passes + second.passes, first.n_bytes + second.n_bytes, why)
