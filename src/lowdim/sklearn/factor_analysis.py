"""FactorAnalysis with the arguments of scikit-learn's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn import decomposition

from .. import models
from .._core.schema import Sometimes, Text
from .._core.types import RandomState
from ..errors import HeywoodWarning, without_warnings
from ..reading.rows import Rows
from ..solvers import latent
from ..solvers.latent import LATENT_SOLVERS
from ..solvers.latent.base import LatentFit
from ..solvers.latent.newton import Newton
from ..solvers.latent.rotation import Quartimax, Rotation, Varimax
from ..solvers.problem import repeated_rows
from .pca import SklearnParameters

_ROTATIONS: dict[Any, Rotation] = {"varimax": Varimax(kaiser=False), "quartimax": Quartimax(kaiser=False)}


class FactorAnalysis(SklearnParameters, models.FactorAnalysis):
    """Factor analysis by maximum likelihood, as `sklearn.decomposition.FactorAnalysis`, but at the maximum.

    scikit-learn's EM iteration stops when the log-likelihood grows by less than `tol` = 0.01, which may be far from the
    maximum. Here Newton's method finds the maximum.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of factors, which may be 0; None for as many as there are columns (or rows, if these are fewer).
    tol : float, default=0.01
        Without effect: the iteration ends at the maximum.
    copy : bool, default=True
        Without effect: rows are never overwritten.
    max_iter : int, default=1000
        Largest number of steps of Newton's method, of which a few are enough. There is a warning if it is reached.
    noise_variance_init : array of shape (n_features,) or None, default=None
        Without effect, apart from a check of its shape: the maximum does not depend on the start.
    svd_method : {"lapack", "randomized"}, default="randomized"
        Without effect: it selects how scikit-learn computes singular values.
    iterated_power : int, default=3
        Without effect, as `svd_method`.
    rotation : {"varimax", "quartimax"} or None, default=None
        As in scikit-learn: of the loadings in the units of the columns, without Kaiser's normalisation. Without it,
        L^T Psi^{-1} L is diagonal.
    random_state : int, RandomState or None, default=0
        Seed of starting values.

    Attributes
    ----------
    components_, noise_variance_, mean_, loglike_, n_iter_
        As in scikit-learn. `loglike_` has the log-likelihood before each step and at the end, without values that are
        not larger than all before them: the last steps may change it by no more than rounding.

    Notes
    -----
    NaN is a missing value here, while scikit-learn refuses it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim.sklearn import FactorAnalysis
    >>> X, _ = load_iris(return_X_y=True)
    >>> FactorAnalysis(n_components=1, svd_method="lapack").fit(X).components_.round(3)
    array([[ 0.719, -0.186,  1.759,  0.731]])
    """

    scores = "regression"
    scale = False
    missing = "nan"
    fitted_attributes = {"_form": Sometimes(Text(("newton", "newton-cg")))}
    _parameter_constraints = decomposition.FactorAnalysis._parameter_constraints

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-2,
        copy: bool = True,
        max_iter: int = 1000,
        noise_variance_init: ArrayLike | None = None,
        svd_method: Literal["lapack", "randomized"] = "randomized",
        iterated_power: int = 3,
        rotation: Literal["varimax", "quartimax"] | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.tol = tol
        self.max_iter = max_iter
        self.svd_method = svd_method
        self.noise_variance_init = noise_variance_init
        self.iterated_power = iterated_power
        self.random_state = random_state
        self.rotation = rotation

    @property
    def solver(self) -> Newton:  # type: ignore[override] # a parameter of the model, fixed here
        """Newton's method with `max_iter` steps, in the form that suits the shape of the rows."""
        form: Any = LATENT_SOLVERS[self.__dict__.get("_form", Newton.name)]
        return form(max_iter=int(self.max_iter))

    def _unpack(self, fit: LatentFit, dtype: Any) -> None:
        # scikit-learn gives no such warning; `heywood_` marks the columns nevertheless.
        with without_warnings(HeywoodWarning):
            super()._unpack(fit, dtype)
        self.loglike_ = increasing(self.loglike_)

    def _to_rotate(self, W: np.ndarray, scale: np.ndarray) -> tuple[Rotation | None, np.ndarray]:
        # scikit-learn does not normalise the loadings of each column first.
        return None if self.rotation is None else _ROTATIONS[self.rotation], W * scale

    def _k(self, n: int | None, p: int) -> int:
        return 0 if self.n_components == 0 else super()._k(n, p)

    def _most_components(self, upper: int, p: int) -> int:
        return upper

    def _check_rows(self, rows: Rows) -> None:
        super()._check_rows(rows)
        k = self._k(repeated_rows(rows), rows.shape[1])
        planned = latent.plan(rows, self._latent_request(k)).solver
        self._form = planned.name if isinstance(planned, Newton) else Newton.name
        start: Any = self.noise_variance_init
        p = rows.shape[1]
        if start is not None and len(start) != p:
            raise ValueError(f"noise_variance_init has {len(start)} entries, but X has {p} columns.")


def increasing(values: Sequence[float]) -> list[float]:
    """The values that are larger than all before them."""
    return [value for i, value in enumerate(values) if i == 0 or value > max(values[:i])]
