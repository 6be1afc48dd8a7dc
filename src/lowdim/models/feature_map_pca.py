"""Principal component analysis of explicit features of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, is_sparse, namespace, read_only, to_numpy
from .._core.schema import Instance, ListOf, Maybe, Numbers, Real, Text, Whole
from .._core.types import HasTransform, RandomState
from ..errors import choice, too_small, wrong_features
from ..features import FEATURE_MAPS, FeatureMapName, require_width
from ..kernels import Kernel
from ..linalg import require_normal
from ..reading.rows import Rows
from ..selection.rules import RuleName
from ..solvers.problem import Plan
from ..solvers.spectra import SolverName
from ..solvers.spectra.covariance import Solver
from ..sources.opening import open_target
from ..summaries.base import same_parameters
from ..summaries.moments import Columns
from ..table import numbered
from .base import Model, first_components
from .pca import PCA

#: Attributes of a PCA that have one number for each component.
_OF_COMPONENTS = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
#: The attributes that are copied from the PCA of the features.
_COPIED = (
    *("components_", *_OF_COMPONENTS, "mean_", "scale_", "noise_variance_", "rank_"),
    *("n_components_", "n_samples_", "solver_", "plan_", "status_", "residual_"),
)
#: A plan fits a transformer to at most this many random rows, with at most this many entries.
_RANDOM_ROWS, _RANDOM_ENTRIES = 1000, 1_000_000


class FeatureMapPCA(Model):
    """PCA of the features phi(x) of the rows, for an explicit feature map phi.

    Parameters
    ----------
    n_components : int, float or None, default=None
        As in PCA. None keeps as many components as there are features; if there are fewer rows than features, those
        with positive variance.
    feature_map : str, callable or transformer, default="polynomial"
        "polynomial" or an object from `lowdim.features` with its options; a function from a block of rows to a block of
        features; or a scikit-learn transformer, which is fitted to the rows first. Functions and transformers get
        rows that they may change without changing yours, and return any 2-D array, sparse matrix or table of numbers.
    scale : bool, default=False
        Whether to divide features by their standard deviation first.
    solver : str or Solver, default="auto"
        As in PCA.
    ddof : int, default=1
        Variances are divided by n - ddof.
    random_state : int, RandomState or None, default=None
        Seed of the starting vectors of the Krylov solver; None is a fixed seed.

    Attributes
    ----------
    feature_map_ : callable
        The fitted feature map phi.
    feature_names_ : list of str
        Names of the features; if the feature map has no names, f1, f2, ...
    pca_ : PCA
        The PCA of the features.
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, scale_, noise_variance_
        Those of `pca_`, in the space of the features.
    n_components_, n_samples_, n_features_in_, feature_names_in_, rank_, solver_, plan_, status_, residual_

    Notes
    -----
    Rows are mapped to features block by block while they are summarized, so that the features of all rows are never
    stored, and everything that PCA can read can be read here too. With all monomials of degree M, scaled as in
    `lowdim.features.Polynomial`, the scores are those of kernel PCA with the kernel (x . y)^M.

    References
    ----------
    .. [1] Scholkopf, Smola, Muller (1998), Nonlinear component analysis as a kernel eigenvalue problem.

    Examples
    --------
    The quadratic features of a circle lie in a plane; the component without variance gives its equation.

    >>> import numpy as np
    >>> from lowdim import FeatureMapPCA
    >>> angle = np.linspace(0, 6, 50)
    >>> circle = np.column_stack([3 * np.cos(angle), 3 * np.sin(angle)])
    >>> flat = FeatureMapPCA().fit(circle)
    >>> flat.explained_variance_.round(3)
    array([21.202, 20.096,  0.   ])
    >>> flat.equation()
    ({'x1^2': 1.0, 'x1 x2': 0.0, 'x2^2': 1.0}, 9.0)
    """

    feature_map_: Any
    feature_names_: list[str]
    pca_: PCA
    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    singular_values_: np.ndarray
    mean_: np.ndarray
    scale_: np.ndarray | None
    noise_variance_: float
    rank_: int
    residual_: float
    fitted_attributes = {
        "feature_map_": Instance("features.*"),
        "feature_names_": ListOf(Text(), length="m"),
        "pca_": Instance("models.PCA"),
        "components_": Numbers("k", "m", orthonormal="rows"),
        **{name: PCA.fitted_attributes[name] for name in _OF_COMPONENTS},
        "mean_": Numbers("m"),
        "scale_": Maybe(Numbers("m", sign="positive")),
        "noise_variance_": Real("nonnegative"),
        "rank_": Whole(most="k"),
        "residual_": Real("nonnegative"),
    }

    def __init__(
        self,
        n_components: int | float | RuleName | None = None,
        *,
        feature_map: FeatureMapName | Callable[[Array], Array] | HasTransform = "polynomial",
        scale: bool = False,
        solver: SolverName | Solver = "auto",
        ddof: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.scale = scale
        self.solver = solver
        self.ddof = ddof
        self.random_state = random_state

    def equation(self, component: int | None = None) -> tuple[dict[str, float], float]:
        """A component as an equation: coefficients of the products of entries, and a constant.

        The average over the rows of sum coefficient * product is the constant. For a component without variance this is
        an equation that all rows satisfy: for points on a circle or another conic, with `Polynomial(2, up_to=True)`,
        the equation of the conic. The default is the component of least variance; if several have none, the one with
        the largest entry for a feature that is not constant. The largest coefficient is 1.
        """
        check_is_fitted(self)
        if not hasattr(self.feature_map_, "scales"):
            raise TypeError("equation() needs products of entries, which only the 'polynomial' feature map has.")
        W = to_numpy(self.components_).astype(float)
        W = W if self.scale_ is None else W / to_numpy(self.scale_)
        # The constant feature is moved to the other side of the equation.
        varying = np.array([name != "1" for name in self.feature_names_])
        if component is None:
            least = range(min(self.rank_, len(W) - 1), len(W))
            component = max(least, key=lambda k: float(np.abs(W[k, varying]).max()))
        w = np.where(varying, W[component], 0.0)
        values = w * self.feature_map_.scales(self.n_features_in_)
        largest = values[np.abs(values).argmax()] or 1.0
        constant = float(w @ to_numpy(self.mean_).astype(float) / largest)
        rounded = (np.round(values / largest, 12) + 0.0).tolist()
        found = {name: v for name, v in zip(self.feature_names_, rounded, strict=True) if name != "1"}
        return found, round(constant, 12) + 0.0

    def _map_of(self, rows: Rows, example: Array | None = None) -> Callable[[Array], Array]:
        """The feature map as a function of blocks; a transformer is fitted to all rows first, or to the `example`."""
        given = self.feature_map
        if isinstance(given, str):
            if given not in FEATURE_MAPS:
                raise choice("feature_map", given, list(FEATURE_MAPS), "Or pass a function of a block of rows.")
            return FEATURE_MAPS[given]()
        if self._is_transformer():
            source = rows.source
            if not source.traits.whole:
                raise TypeError("a transformer is fitted to all rows at once: pass an array or a table, not a stream.")
            known = next(source.blocks(int(source.shape[0] or 0))) if example is None else example
            return clone(given).fit(_copy_of(known)).transform
        if isinstance(given, Kernel):
            raise TypeError(
                f"feature_map={given} is a kernel: pass it to KernelPCA(kernel=...), or take a map from "
                "lowdim.features."
            )
        if isinstance(given, type):
            raise TypeError(f"feature_map={given.__name__} is a class; pass an instance: {given.__name__}().")
        if callable(given):
            return given
        raise TypeError(f"feature_map must be a name, a function or a transformer, got {type(given).__name__}.")

    def _is_transformer(self) -> bool:
        given = self.feature_map
        return not isinstance(given, type) and hasattr(given, "fit") and hasattr(given, "transform")

    def _check_parameters(self) -> None:
        self._pca()._check_parameters()

    def _check_fitted(self) -> None:
        require_width(self.feature_map_, self.n_features_in_, self.mean_.shape[0])
        for name in _COPIED:
            if not same_parameters(getattr(self, name), getattr(self.pca_, name)):
                raise ValueError(f"{name} is not that of pca_")

    def _pca(self) -> PCA:
        """An unfitted PCA with the parameters of this model."""
        options = {name: getattr(self, name) for name in ("scale", "solver", "ddof", "random_state")}
        return PCA(self.n_components, **options)

    def _plan_rows(self, rows: Rows) -> Plan:
        """The plan of the PCA of the features. Their number is found from random rows, to which a transformer is also
        fitted, because a plan does not read the rows."""
        example = _random_rows(rows, many=self._is_transformer())
        plan = self._pca()._plan_rows(rows.mapped(_safe(self._map_of(rows, example)), example))
        return (
            replace(plan, why=f"{plan.why} (as many features as random rows have)") if self._is_transformer() else plan
        )

    def _fit_rows(self, rows: Rows) -> None:
        self.feature_map_ = self._map_of(rows)
        mapped = rows.mapped(_safe(self.feature_map_))
        width = mapped.shape[1]
        self.pca_ = self._pca()
        self.pca_.n_features_in_ = width
        self.pca_._fit_rows(mapped)
        if _is_ours(self.feature_map_):
            _require_features(self.pca_, rows)
        if self.n_components is None and width > self.pca_.n_samples_ - 1:
            # With fewer rows than features, directions beyond the rank are arbitrary.
            _shorten(self.pca_, max(self.pca_.rank_, 1))
        for name in _COPIED:
            setattr(self, name, getattr(self.pca_, name))
        names = getattr(self.feature_map_, "names", None)
        self.feature_names_ = names(self._column_names()) if names else numbered("f", width)

    def _scoring(self) -> Any:
        scores, phi = self.pca_._scoring(), _safe(self.feature_map_)
        return lambda block: scores(phi(block))

    def _lift(self) -> Array:
        return self.pca_._lift()

    def _keep_first(self, k: int) -> None:
        super()._keep_first(k)
        self.pca_ = first_components(self.pca_, k)

    def _row_names(self) -> list[str]:
        return list(self.feature_names_)

    def _describe_columns(self) -> str:
        return f"{self.mean_.shape[0]} features of {self.n_features_in_} columns"


def _random_rows(rows: Rows, many: bool) -> Array:
    """A block of random rows of the kind of `rows`: one row, or up to a thousand if `many`."""
    n, p = rows.shape
    m = min(n or _RANDOM_ROWS, _RANDOM_ROWS, max(2, _RANDOM_ENTRIES // p)) if many else 1
    like = rows.empty(0)
    block = asarray_like(np.random.default_rng(0).standard_normal((m, p)), like, dtype=like.dtype)
    return sparse.csr_array(block) if rows.traits.sparse else block


@dataclass(frozen=True)
class _SafeMap:
    """A feature map from elsewhere. It cannot change the rows, and its results are read as rows are: integers become
    floats, and tables and sparse matrices are accepted."""

    function: Callable[[Array], Any]

    def __call__(self, block: Array) -> Array:
        features = self._features(block)
        if getattr(features, "ndim", 0) != 2 or features.shape[0] != block.shape[0]:
            raise wrong_features(tuple(getattr(features, "shape", ())), block.shape[0])
        if type(features) is type(block) and features.dtype == block.dtype:
            return features
        return next(open_target(features, table="the features of X").blocks(block.shape[0]))

    def _features(self, block: Array) -> Any:
        """The features of a block. NumPy blocks are passed on read-only; a map that works in place gets a copy."""
        if isinstance(block, np.ndarray):
            try:
                return self.function(read_only(block))
            except ValueError as error:
                if "read-only" not in str(error):
                    raise
        return self.function(_copy_of(block))


def _safe(phi: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """The map itself if it is one of ours, which neither change their blocks nor return anything but floats."""
    return phi if _is_ours(phi) else _SafeMap(phi)


def _is_ours(phi: Any) -> bool:
    """Whether a feature map is one of `lowdim.features`."""
    return isinstance(phi, tuple(FEATURE_MAPS.values()))


def _require_features(pca: PCA, rows: Rows) -> None:
    """Raise an error if products of entries underflow in the dtype of the rows: they are subnormal, or all of them are
    zero although the rows are not."""
    deviation = math.sqrt(float(pca.explained_variance_[0]))
    require_normal(deviation, rows.empty(0), "all features")
    if deviation == 0.0 and not np.any(to_numpy(pca.mean_)) and rows.traits.rereadable:
        columns = rows.summarize(Columns(rows.shape[1]))
        if np.any(to_numpy(columns.mean)) or np.any(to_numpy(columns.squares)):
            raise too_small("all features")


def _copy_of(block: Array) -> Array:
    """A copy of a block, dense or sparse."""
    return block.copy() if is_sparse(block) else namespace(block).asarray(block, copy=True)


def _shorten(pca: PCA, k: int) -> None:
    """Keep the first k components of a fitted PCA; the others have no variance."""
    for name in ("components_", *_OF_COMPONENTS):
        setattr(pca, name, getattr(pca, name)[:k, ...])
    pca.n_components_ = k
