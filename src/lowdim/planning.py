"""`plan`: what a model or a solver would do with rows, before one is read."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from .solvers import Plan, spectra
from .solvers.base import AnySolver
from .sources import ShapedSource, Source, Traits, open_source


def plan(
    what: Any, X: Any = None, y: Any = None, *, k: int | None = None, solver: Any = "auto", traits: Traits | None = None
) -> Plan:
    """Which solver will run, how often it reads the rows, how many bytes it takes beside them, and why.

    Parameters
    ----------
    what : model, solver, or shape (n, p)
        A model that is not fitted, such as `PCA(10)`; a solver with its options, such as `Krylov(block=16)`; or the
        shape of rows for PCA, with n None for a stream of unknown length.
    X, y : rows, or their shapes
        What would be passed to `fit`; rows are opened, and none is read. An iterator that can be read once would lose
        its first block: pass `lowdim.open_source(iterator)` here and to `fit`, or a shape. After a shape `X` is k.
    k : int, optional
        Components wanted of a solver or for a shape; None for all (a fraction of variance needs all, too).
    solver : "auto", a solver's name, or a solver
        For a shape.
    traits : Traits, optional
        What the source of the rows allows (`open_source(X).traits`), for a shape; default: a dense array.

    Returns
    -------
    Plan
        Prints itself. What `fit` would refuse is refused here, with the same error.

    Examples
    --------
    >>> from lowdim import CCA, PCA, plan
    >>> print(plan((200_000, 256), 10))
    covariance: 1 pass over the rows, about 6.0 MiB beside them; one product of the rows is cheapest for 256 columns
    >>> print(plan(PCA(10), (500, 20_000)))
    gram: 2 passes over the rows, about 0.1 GiB beside them; inner products are cheapest for 500 rows of 20000 columns
    """
    if isinstance(what, type):
        raise TypeError(f"plan needs a model or a solver, got the class {what.__name__}; make one: {what.__name__}().")
    if isinstance(what, AnySolver):
        sources = [open_source(_opened(table)) for table in (X, y) if table is not None]
        if not sources:
            raise TypeError(f"plan({what.name!r}) needs rows, or their shape, as its second argument.")
        return what.plan_sources(sources, k)
    if hasattr(what, "fit") and hasattr(what, "plan"):
        return what.plan(_opened(X), None if y is None else _opened(y))
    return spectra.plan_shape(what, X if k is None else k, solver=solver, traits=traits)


def _opened(X: Any) -> Any:
    """Rows as they are, or a source of the shape that stands for them; iterators are refused."""
    if isinstance(X, Source):
        return X
    if isinstance(X, tuple) and len(X) == 2 and all(n is None or isinstance(n, Integral) for n in X):
        return ShapedSource(X)
    if hasattr(X, "__next__"):
        raise TypeError(
            "an iterator of blocks can be read once, and a plan would take its first block; pass "
            "lowdim.open_source(iterator) to plan and to fit, or a shape (n, p)."
        )
    return X
