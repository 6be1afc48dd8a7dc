"""Principal components of tables with categories: the base class of MCA, FAMD and MFA."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, dense
from .._core.coded import NO_LEVEL, Categories
from .._core.schema import Instance, ListOf, Numbers, Real, Sometimes, Text
from .._core.types import VectorLike
from ..coding import MISSING, Coding, check_min_frequency, coding_of, look_alikes
from ..errors import CategoryWarning, choice, list_names, other_names, unknown_column, warn_user
from ..linalg import FLOAT64_EPS, eigh_descending, is_constant, most_components, quiet_blas
from ..reading.map import RowMap
from ..reading.rows import Rows
from ..reading.summarizing import summarize
from ..selection.criteria import Eigenvalues
from ..selection.fold_methods import PermutationOptions
from ..selection.parallel_analysis import UnrelatedColumns, inertias_of_unrelated
from ..selection.rules import Choice
from ..selection.scorers import CodedScorer
from ..solvers import spectra
from ..solvers.problem import Plan, Request, Spectrum, leading_count
from ..solvers.spectra.covariance import Covariance
from ..sources.array import ShapedSource
from ..sources.base import Source
from ..sources.categories import CategorySource, CodedSource, category_table, check_text, label_of, without_columns
from ..sources.opening import TableLike, check_row_labels, names_in
from ..summaries.levels import Levels
from ..summaries.moments import Columns, Moments
from .base import add_rows, copy_of, count_components, first_components
from .n_components import check_rule, chosen_by
from .output import Maps, framed_results, results
from .spectral import SpectralModel

#: Up to so many coded columns the scatter matrix of all of them is computed; with more, blocks are sparse.
_DENSE_UP_TO = 4000
#: The rules for the number of dimensions that look at inertias only, or simulate coded columns.
_RULES = ("proportion", "kaiser", "broken-stick", "elbow", "parallel")
#: What "parallel" assumes of coded columns.
_WITHOUT_RELATIONS = (
    "Assumes that without structure no column (of MFA, no group) is related to another; simulated tables have the same "
    "levels, as often as here, and numbers that are Gaussian. Strong dimensions leave a smaller part of the inertia to "
    "later ones, so that weak ones may be missed."
)
#: Messages about levels name so many columns.
_COLUMNS_NAMED = 5
#: A plan assumes so many levels of each category, as long as they are not known.
_LEVELS_ASSUMED = 8


class MixedModel(SpectralModel):
    """Base class of models of tables with categories: a PCA of coded columns, which have weights.

    With r the weights of the rows, which add up to one, Z the coded columns, which are centred, and q their weights:

        Z^T diag(r) Z diag(q) u = lambda u,   u^T diag(q) u = 1.

    That is a PCA of the columns sqrt(q_j) z_j, with unit eigenvectors w = diag(q)^(1/2) u. A column x_j of numbers, or
    of zeros and ones, is coded as z_j = (x_j - mean_j) / d_j. So it is also a PCA of the columns x_j divided by
    `scale_`, which is d_j / sqrt(q_j).
    """

    component_name = "dim"
    _fixed_ddof = True
    #: Variances are divided by the sum of the weights of the rows.
    ddof = 0
    solver = "auto"
    #: What `missing` may be.
    _missing_choices: ClassVar[tuple[str, ...]] = ("level", "passive", "error")
    #: What to do about missing entries of numbers.
    _missing_numbers_advice: ClassVar[str] = (
        "Fill them first, for example with the method impute of PPCA, or leave the column out; of the models of "
        'categories, FAMD(missing="em") estimates them.'
    )
    levels: Mapping[str, Sequence[Any]] | None
    min_frequency: float | int | None
    missing: str
    supplementary: Sequence[str] | None
    coding_: Coding
    supplementary_coding_: Coding
    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    singular_values_: np.ndarray
    scale_: np.ndarray
    total_weight_: float
    choice_: Choice
    fitted_attributes = {
        "coding_": Instance("models.Coding"),
        "supplementary_coding_": Instance("models.Coding"),
        "components_": Numbers("k", "c", host=True, orthonormal="rows"),
        "mean_": Numbers("c", host=True),
        "scale_": Numbers("c", host=True, sign="positive"),
        "explained_variance_": Numbers("k", host=True, sign="nonnegative", order="descending"),
        "explained_variance_ratio_": Numbers("k", host=True, sign="nonnegative", order="descending", most=1.0),
        "singular_values_": Numbers("k", host=True, sign="nonnegative", order="descending"),
        "total_weight_": Real("positive"),
        # All eigenvalues.
        "_inertias": Numbers("*", host=True, sign="nonnegative", order="descending"),
        "choice_": Sometimes(Instance("selection.Choice")),
        # Variances of the coded columns. Squared distances, to the mean of all rows, of the mean row of each level.
        "_variance": Numbers("c", host=True, sign="nonnegative"),
        "_distances": Numbers("c", host=True, sign="nonnegative"),
        # The same of the supplementary columns, with their means and their covariances with the scores.
        "_beside_mean": Numbers("s", host=True),
        "_beside_variance": Numbers("s", host=True, sign="nonnegative"),
        "_beside_distances": Numbers("s", host=True, sign="nonnegative"),
        "_beside_covariance": Numbers("s", "k", host=True),
        # The coding of all columns with which `partial_fit` goes on, and the names of the columns of the table.
        "_whole_coding": Instance("models.Coding"),
        "_table_names": ListOf(Text(), length="p"),
    }

    bootstrap_axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "explained_variance": ("components",),
        "explained_variance_ratio": ("components",),
        "loadings": ("coded columns", "components"),
        "coordinates": ("coded columns", "components"),
    }

    #: Whether the coordinates of levels are those of columns of a table of counts, as in MCA: means of the rows of the
    #: level, divided by the root of the eigenvalue. Otherwise they are these means themselves.
    levels_have_unit_axes: ClassVar[bool] = False

    def _is_centred_only(self, codings: Sequence[Coding]) -> np.ndarray:
        """Which coded columns are numbers that are not divided by their standard deviations."""
        return np.zeros(sum(coding.width for coding in codings), dtype=bool)

    @abstractmethod
    def _roles(self, kinds: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """The columns of numbers and the categories, among columns of these kinds."""

    @abstractmethod
    def _weights(self, moments: Moments | Columns, coding: Coding) -> np.ndarray:
        """The weights of the active coded columns x_j, q_j / d_j^2, from their moments."""

    # ---- The fit

    def _check_parameters(self) -> None:
        check_min_frequency(self.min_frequency)
        if self.missing not in self._missing_choices:
            raise choice("missing", self.missing, self._missing_choices)
        if self.levels is not None and not isinstance(self.levels, Mapping):
            raise TypeError(f"levels={self.levels!r} must be a dictionary of lists, by the names of columns.")
        if isinstance(self.n_components, str) and check_rule(self.n_components).name not in _RULES:
            raise ValueError(
                f"n_components={self.n_components!r} is not available for {type(self).__name__}, whose coded columns "
                f"are not what this rule assumes. Use one of the rules {list_names(_RULES)}, or a number."
            )

    def _by_name(
        self, X: Any, y: Any = None, *, fitted: bool = False, hold: bool = False, **vectors: Any
    ) -> tuple[Any, ...]:
        # The columns that are left may be of any type.
        named = {key: value for key, value in vectors.items() if isinstance(value, str)}
        if not named and not names_in(y):
            check_row_labels(X, **vectors)
            return X, y, *vectors.values()
        table, _ = category_table(X)
        # Classes of the rows, as scikit-learn passes them to models that do not look at them, are no names.
        targets = [name for name in names_in(y) if isinstance(y, str) or name in table.names]
        rest = without_columns(table, [*targets, *named.values()])
        return rest, None, *(table.column(value) if key in named else value for key, value in vectors.items())

    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> Source:
        return self._open(X, reset=reset)

    def _open_keeping(self, X: Any, keep: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]) -> Any:
        # Scores have no columns of the fit, and `inverse_transform_to` names none.
        if wanted is None:
            return super()._open_keeping(X, keep, wanted, beside)
        return self._open(X, reset=False, keep=keep)

    def _open(self, X: Any, *, reset: bool, method: str = "partial_fit", keep: Sequence[str] = ()) -> Source:
        if isinstance(X, CategorySource):
            return X
        if isinstance(X, ShapedSource):
            raise TypeError(
                f"a shape does not say which columns are categories, and how many levels they have; pass the table to "
                f"plan {type(self).__name__}. No row of it is read."
            )
        shape = getattr(X, "shape", ())
        if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[1], int) and shape[1] > _DENSE_UP_TO:
            # It would take long to look at each column.
            raise too_wide(shape[1])
        table, named = category_table(X)
        for name in keep:
            if name not in table.names:
                raise unknown_column(table.label, name, list(table.names))
        chosen = list(table.names) if table.chosen is None else table.chosen
        names = [str(name) for name in chosen if name not in table.index]
        if reset:
            self.n_features_in_, self._table_names = len(names), names
            self.__dict__.pop("feature_names_in_", None)
            if named:
                self.feature_names_in_ = np.asarray(names, dtype=object)
            numeric, categorical = self._roles({name: table.kind_of(name) for name in names})
            if hasattr(self, "categorical_features"):
                check_text(table, categorical, self.categorical_features)
        else:
            place = self._places(names, named)
            numeric = [place[name] for name in self.coding_.numbers]
            categorical = [place[name] for name in self.coding_.categories]
            if wrong := [name for name in numeric if table.kind_of(name) != "number"]:
                raise ValueError(f"column {list_names(wrong)} held numbers in the fit, and does not here.")
        kept = list(dict.fromkeys([*categorical, *keep]))
        return CategorySource(table.keeping(numeric, kept), categorical, table.blanks)

    def _places(self, names: list[str], named: bool) -> dict[str, str]:
        """The names in a new table of the columns of the fit. Supplementary columns need not be there."""
        active = [*self.coding_.numbers, *self.coding_.categories]
        if not named or not hasattr(self, "feature_names_in_"):
            self._check_width(names)
            return dict(zip(self._table_names, names, strict=True))
        if set(active) - set(names):
            raise other_names(None, names, active, "X")
        return dict(zip(names, names, strict=True))

    def _check_width(self, names: list[str]) -> None:
        """Raise an error unless a table without names has as many columns as that of the fit."""
        n, known = len(names), len(self._table_names)
        if n != known:
            raise ValueError(f"X has {n} features, but {type(self).__name__} is expecting {known} features as input.")

    def _wanted(self) -> list[str] | None:
        return None

    def _plan_rows(self, rows: Rows) -> Plan:
        p = rows.shape[1]
        known = self._given_levels()
        source: Any = rows.source
        categories = source.categories
        width = p - len(categories) + sum(len(known.get(name, range(_LEVELS_ASSUMED))) for name in categories)
        passes = 1 + any(name not in known for name in categories)
        why = "one pass for their products"
        if passes > 1:
            why = f"one pass finds the levels, and {why}; {_LEVELS_ASSUMED} levels of each category are assumed"
        if self.missing == "em":
            why += "; missing numbers take further ones"
        return Plan(Covariance(), passes, 8 * width * (4 * width + 2048), why)

    def _fit_rows(self, rows: Rows) -> None:
        source: Any = rows.source
        plan = self._plan_rows(rows)
        found = rows.summarize(Levels(source.categories, source.n_numbers))
        look_alikes(found)
        self._whole_coding = coding = self._coded_by(source, found)
        wide = coding.width > _DENSE_UP_TO
        if wide:
            raise too_wide(coding.width)
        moments, passes = self._summed(rows, found)
        why = "one pass for the levels, and one for their products"
        if passes > 1:
            why = f"one pass for the levels, {passes - 1} for missing numbers, and one for products"
        self._solve(moments, replace(plan, passes=1 + passes, why=why))
        self.summary_, self._dtype = moments, np.float64

    def _summed(self, rows: Rows, found: Levels) -> tuple[Moments, int]:
        """The moments of all coded columns, and the number of passes that they took."""
        coding = self._whole_coding
        coded = Rows(CodedSource(rows.source, coding), rows.weights, rows.progress)
        return coded.summarize(Moments(coding.width)), 1

    def _coded_by(self, source: Any, found: Levels) -> Coding:
        """The coding of all columns. Missing entries are a level in it, also if they are passive in the model."""
        numeric = list(source.names[: source.n_numbers])
        coding = coding_of(numeric, found, given=self._given_levels(), min_frequency=self.min_frequency)
        for j, name in enumerate(coding.categories):
            if self.missing == "error" and MISSING in coding.levels[j]:
                raise ValueError(
                    f"column {name!r} has missing entries (of weight {found.missing(j):g} in all), and "
                    "missing='error'. missing='level' makes them a level, and 'passive' leaves them out."
                )
        if unknown := coding.unknown(found):
            raise ValueError(f"levels: there are further ones: {_listed(unknown)}. Name all levels of a column.")
        return replace(coding, filled=self._filled(numeric, found), means=found.mean)

    def _filled(self, numeric: list[str], found: Levels) -> list[str]:
        """The numbers whose missing entries are replaced; an error if others have missing entries."""
        aside, missing = set(self._supplementary()), found.numbers_missing()
        if empty := [name for name, count in zip(numeric, found.count, strict=True) if count == 0.0]:
            raise ValueError(f"column {list_names(empty)} has no entry: all are missing. Leave it out.")
        if self.missing == "em":
            return numeric
        wrong = [j for j, name in enumerate(numeric) if missing[j] and name not in aside]
        if wrong:
            j, others = wrong[0], [numeric[j] for j in wrong[1:]]
            count = found.weight - found.count[j]
            also = f", and so have the numbers {list_names(others)}" if others else ""
            raise ValueError(
                f"column {numeric[j]!r} holds numbers, and has missing entries (NaN) in {count:g} of {found.weight:g} "
                f"rows{also}. {self._missing_numbers_advice}"
            )
        return [name for name in numeric if name in aside]

    def _given_levels(self) -> dict[str, list[str]]:
        """The levels that are given, as text."""
        return {
            str(name): [label_of(level) or str(level) for level in levels]
            for name, levels in (self.levels or {}).items()
        }

    def _supplementary(self) -> list[str]:
        """The names of the supplementary columns."""
        given = column_names(self.supplementary)
        if unknown := [name for name in given if name not in self._table_names]:
            raise ValueError(
                f"supplementary: there is no column {list_names(unknown)}; the columns are "
                f"{list_names(self._table_names, 20)}."
            )
        return given

    def _solve(self, moments: Moments, plan: Plan) -> None:
        """Set the fitted attributes from the moments of all coded columns."""
        if moments.n_rows < 2:
            raise ValueError(f"n_samples={moments.n_rows} is too few: at least 2 rows of positive weight are needed.")
        A, coding, beside = self._image(moments)
        used = moments.image(A)
        a = coding.width
        active = Moments(a)
        active.n_rows, active.weight, active.product_eps = used.n_rows, used.weight, used.product_eps
        active.mean, active.rest, active.scatter = used.mean[:a], used.rest[:a], used.scatter[:a, :a].copy()
        free = len(coding.numbers) + sum(width - 1 for width in coding.widths)
        if free == 0:
            raise ValueError("each column has one level only, so that no row differs from another.")
        self.coding_, self.supplementary_coding_ = replace(coding, without=active.mean.copy()), beside
        weights = self._weights(active, coding)
        spectrum = spectra.solve_summary(active, self._mixed_request(active, weights, free), Covariance())[0]
        self._inertias = spectrum.values / spectrum.weight
        spectrum = self._shortened(spectrum.accepted(spectrum.rank_cut), moments, free)
        self._unpack(spectrum, np.float64)
        self.plan_, self.solver_ = plan, plan.solver.name
        self.status_, self.residual_ = spectrum.status, spectrum.residual
        self.n_samples_ = moments.n_rows
        covariance, variance = used.scatter[:, :a] / used.weight, np.diagonal(used.scatter) / used.weight
        # The mean row of a level, from that of all rows, is the covariance with its zeros and ones over its share.
        share = np.where(used.mean == 0.0, 1.0, used.mean)
        distances = ((covariance / self.scale_) ** 2).sum(axis=1) / share**2
        self._variance, self._beside_variance = variance[:a], variance[a:]
        self._distances, self._beside_distances = distances[:a], distances[a:]
        self._beside_mean, self._beside_covariance = used.mean[a:], covariance[a:] @ (self.components_ / self.scale_).T

    def _image(self, moments: Moments) -> tuple[np.ndarray, Coding, Coding]:
        """The matrix that maps all coded columns to those of the model, and the codings of the latter: of the active
        columns, which come first, and of the supplementary ones.

        Levels that no row has are left out. If missing entries are passive, the column of the missing entries of a
        category adds the shares of its levels, so that their rows are at the mean.
        """
        whole, mean, asided = self._whole_coding, moments.mean, set(self._supplementary())
        places, columns, codings = whole.columns, [], []
        a = len(whole.numbers)
        for aside in (False, True):
            numeric = [name for name in whole.numbers if (name in asided) == aside]
            names = [name for name in whole.categories if (name in asided) == aside]
            levels, rare, of_levels = [], [], []
            of_numbers = [places[name].start for name in numeric]
            columns += [np.eye(1, whole.width, j)[0] for j in of_numbers]
            for name in names:
                j, start = whole.categories.index(name), places[name].start
                own = {level: start + i for i, level in enumerate(whole.levels[j]) if mean[start + i] > 0}
                passive = own.pop(MISSING, None) if self.missing == "passive" else None
                if not own:
                    raise ValueError(f"column {name!r} has no entry: all are missing. Leave it out.")
                total = sum(mean[i] for i in own.values())
                for i in own.values():
                    column = np.eye(1, whole.width, i)[0]
                    if passive is not None:
                        column[passive] = mean[i] / total
                    columns.append(column)
                levels.append(list(own))
                rare.append(whole.rare[j])
                of_levels += [i - a for i in own.values()]
            codings.append(
                Coding(
                    numeric,
                    names,
                    levels,
                    rare,
                    filled=[name for name in numeric if name in whole.filled],
                    means=None if whole.means is None else whole.means[of_numbers],
                    shifts=None if whole.shifts is None else whole.shifts[np.ix_(of_levels, of_numbers)],
                    covariance=None if whole.covariance is None else whole.covariance[np.ix_(of_numbers, of_numbers)],
                )
            )
        if not codings[0].width:
            raise ValueError("supplementary: all columns are, and none is left for the fit.")
        return np.array(columns).T, codings[0], codings[1]

    def _mixed_request(self, active: Moments, weights: np.ndarray, free: int) -> Request:
        # All eigenvalues are computed: adjusted shares of the inertia need them.
        most = max(1, min(most_components(active.n_rows, active.weight, free + 1) - 1, free))
        if not isinstance(self.n_components, str):
            count_components(self.n_components, None, active.n_features, upper=most)
        return Request(k=most, ddof=0, fixed_ddof=True, feature_weight=weights, most=free)

    def _shortened(self, spectrum: Spectrum, moments: Moments, free: int) -> Spectrum:
        """The pairs that `n_components` keeps, of at most `free` that can have inertia."""
        self.__dict__.pop("choice_", None)
        if isinstance(self.n_components, str):
            rule, e = check_rule(self.n_components), Eigenvalues.from_spectrum(spectrum, free, 0)
            found, k = chosen_by(rule, e, self._seed(), simulate=partial(self._inertias_by_chance, moments, free))
            self.choice_ = replace(found, assumes=_WITHOUT_RELATIONS) if rule.name == "parallel" else found
            return spectrum.truncated(k)
        if isinstance(self.n_components, float):
            return spectrum.truncated(leading_count(spectrum.values, spectrum.total, self.n_components))
        k = self.n_components
        return spectrum.truncated(max(spectrum.rank, 1) if k is None else int(k))

    def _inertias_by_chance(self, moments: Moments, free: int, n_resamples: int, seed: int) -> np.ndarray:
        """The eigenvalues of simulated tables in which no column is related to another; one row for each table."""
        A, coding, _ = self._image(moments)
        A, a = A[:, : coding.width], len(coding.numbers)
        places = [self._whole_coding.columns[name] for name in coding.columns]
        own = np.concatenate([np.arange(place.start, place.stop) for place in places])
        deviations = np.sqrt(np.diagonal(moments.scatter)[own[:a]] / moments.weight)
        tables = UnrelatedColumns(deviations, [moments.mean[place] for place in places[a:]], moments.weight)
        parts = self._unrelated(coding)
        if len(parts) == len(places) and tables.are_quick(n_resamples):
            with quiet_blas(len(own)):
                each = [self._weighted(simulated.image(A[own]), coding) for simulated in tables.draw(n_resamples, seed)]
                return np.array([np.clip(np.linalg.eigvalsh(C)[::-1][:free], 0.0, None) for C in each])
        C = self._weighted(moments.image(A), coding)
        values = [eigh_descending(C[np.ix_(part, part)])[0] for part in parts]
        found = inertias_of_unrelated(
            [v[v > len(v) * FLOAT64_EPS * v[0]] for v in values], moments.weight, n_resamples, seed
        )
        return found[:, :free]

    def _weighted(self, active: Moments, coding: Coding) -> np.ndarray:
        """The weighted covariance of the active coded columns, whose eigenvalues are those of the model."""
        root = np.sqrt(self._weights(active, coding))
        return np.asarray(active.scatter * root * root[:, None] / active.weight)

    def _unrelated(self, coding: Coding) -> list[np.ndarray]:
        """The coded columns of each part of the table that is not related to the others if there is no structure: of
        each column."""
        return [np.arange(place.start, place.stop) for place in coding.columns.values()]

    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        self.components_, self.mean_ = spectrum.vectors, spectrum.mean
        self.scale_ = np.ones(len(self.mean_)) if spectrum.scale is None else spectrum.scale
        self.n_components_ = len(spectrum.values)
        self.explained_variance_ = spectrum.values / spectrum.weight
        self.explained_variance_ratio_ = spectrum.values / (spectrum.total or 1.0)
        self.singular_values_ = np.sqrt(self.explained_variance_)
        self.total_weight_ = spectrum.weight

    @property
    def total_inertia_(self) -> float:
        """The sum of all eigenvalues, also of those of dimensions that are not kept."""
        check_is_fitted(self)
        return float(self._inertias.sum())

    @property
    def levels_(self) -> dict[str, list[str]]:
        """The levels of each active category, in their order."""
        check_is_fitted(self)
        return dict(zip(self.coding_.categories, self.coding_.levels, strict=True))

    @property
    def loadings_(self) -> np.ndarray:
        """The components times the square roots of the eigenvalues, shape (n_coded, n_components)."""
        check_is_fitted(self)
        return np.asarray(self.components_.T * self.singular_values_)

    @property
    def coordinates_(self) -> np.ndarray:
        """The coordinates of the columns of numbers and of the levels, active ones first, then supplementary ones."""
        check_is_fitted(self)
        # A layer above the models.
        return np.asarray(import_module("lowdim.inspect.geometry").geometry(self).coordinates)

    # ---- Rows that are drawn, shuffled or left out

    def coded_rows(self, source: Any, sample_weight: Any = None) -> Source:
        """The rows of an opened table, coded, for copies of the model that are fitted to the moments of some of them;
        a pass for the levels.

        The levels become a parameter of this model, so that all copies have the same coded columns.
        """
        rows = self._rows(source, sample_weight)
        found = rows.summarize(Levels(source.categories, source.n_numbers))
        coding = self._coded_by(source, found)
        self._whole_coding = coding
        self.levels = {
            name: [level for level in levels if level != MISSING]
            for name, levels in zip(coding.categories, coding.levels, strict=True)
        }
        coded = CodedSource(source, coding)
        if coded.shape[0] is None and not source.traits.remote:
            # The pass has counted the rows.
            coded.shape = (found.n_rows if rows.weights is None else len(rows.weights), coding.width)
        return coded

    def planned_rows(self, source: Any) -> Source:
        """As `coded_rows`, without reading a row: with an assumed number of levels where they are not given."""
        known, names = self._given_levels(), source.categories
        levels = [known.get(name, list(map(str, range(_LEVELS_ASSUMED)))) for name in names]
        self._whole_coding = Coding(list(source.names[: source.n_numbers]), list(names), levels, [[] for _ in names])
        return CodedSource(source, self._whole_coding)

    def permutation_options(self) -> PermutationOptions:
        return PermutationOptions((False,), coded=True)

    def shuffled_together(self) -> list[list[int]]:
        """Which columns a permutation test shuffles in the same order, by their numbers in the coding: each alone."""
        return [[j] for j in range(len(self._whole_coding.columns))]

    def held_out_scorer(self) -> CodedScorer:
        return CodedScorer(self)

    def most_dimensions(self) -> int:
        """The number of dimensions that can have inertia, after `coded_rows`."""
        aside = set(self._supplementary())
        each = self._whole_coding.columns.items()
        return sum(
            max(piece.stop - piece.start - (name not in self._whole_coding.numbers), 0)
            for name, piece in each
            if name not in aside
        )

    def held_out_products(self, moments: Moments) -> tuple[np.ndarray, list[slice]]:
        """Second moments of other rows about the mean of the fit, in the weighted coded columns, from the moments of
        all coded columns; and the places of each active column. Levels that the fit does not have are passive."""
        summary: Any = self.summary_
        A, coding, _ = self._image(summary)
        A = A[:, : coding.width]
        for name in coding.categories:
            own, piece = self._whole_coding.columns[name], coding.columns[name]
            new = own.start + np.flatnonzero(~A[own, piece].any(axis=1))
            A[new, piece] = self.mean_[piece]
        used = moments.image(A)
        d = used.mean - self.mean_
        S = used.scatter / used.weight + d[:, None] * d
        return S / self.scale_ / self.scale_[:, None], list(coding.columns.values())

    # ---- Further rows

    def partial_fit(self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None) -> Self:
        """Update the model with further rows. The result is exact: the same as a fit to all rows at once.

        The levels of the categories are those in `levels`, or else those of the rows of `fit` or of the first call. A
        further level is an error, and so are missing numbers; those of supplementary columns are replaced by the mean
        in the rows of `fit`, or of the first call.
        """
        self._check_parameters()
        with self._restore_on_error():
            first = not hasattr(self, "summary_")
            X, y, sample_weight = self._by_name(X, y, sample_weight=sample_weight)
            source: Any = self._open(X, reset=True) if first else self._open_again(X)
            if first:
                self._whole_coding = self._given_coding(source)
            # Missing numbers would be filled without their conditional covariances.
            filled = [name for name in self._whole_coding.filled if name in self._supplementary()]
            coding = replace(self._whole_coding, strict=True, filled=filled)
            summary = Moments(coding.width) if first else copy_of(self.summary_)
            add_rows(summary, CodedSource(source, coding), sample_weight)
            self.summary_, self._dtype = summary, np.float64
            if summary.n_rows >= 2:
                self._solve(summary, Plan(Covariance(), 0, 0, "from a summary"))
        return self

    def _open_again(self, X: Any) -> Source:
        """The rows of all columns of the fit, supplementary ones included."""
        table, named = category_table(X)
        names = [str(name) for name in (table.names if table.chosen is None else table.chosen)]
        names = [name for name in names if name not in table.index]
        if named and hasattr(self, "feature_names_in_"):
            if set(self._table_names) - set(names):
                raise other_names(None, names, self._table_names, "X")
            place = {name: name for name in names}
        else:
            self._check_width(names)
            place = dict(zip(self._table_names, names, strict=True))
        numeric, categorical = (
            [place[name] for name in group] for group in (self._whole_coding.numbers, self._whole_coding.categories)
        )
        return CategorySource(table.keeping(numeric, categorical), categorical, table.blanks)

    def _given_coding(self, source: Any) -> Coding:
        """The coding of all columns with the levels that are given, or that the first rows have; missing entries are a
        further level of each."""
        found = summarize(source, Levels(source.categories, source.n_numbers))
        coding = self._coded_by(source, found)
        levels = [own if MISSING in own else [*own, MISSING] for own in coding.levels]
        return replace(coding, levels=levels)

    def fit_summary(self, summary: Any) -> Self:
        """Fit to the Moments of coded columns, such as `summary_` of another model of the same columns.

        The levels of the categories have to be given (`levels`), and the columns of the summary must have the names of
        the coded columns: those of the numbers, and "category=level".
        """
        self._check_parameters()
        if not isinstance(summary, Moments) or summary.names is None:
            raise TypeError(
                f"fit_summary needs Moments of coded columns with names, got {type(summary).__name__}; the attribute "
                "summary_ of a fitted model is such a summary."
            )
        with self._restore_on_error():
            given = self._given_levels()
            coded = {f"{name}={level}" for name, levels in given.items() for level in (*levels, MISSING)}
            numeric = [str(name) for name in summary.names if name not in coded]
            there = set(summary.names)
            levels = [[level for level in (*given[name], MISSING) if f"{name}={level}" in there] for name in given]
            coding = Coding(numeric, list(given), levels, [[] for _ in given])
            if coding.names != list(summary.names):
                raise ValueError(
                    "levels: these do not give the columns of the summary, which are "
                    f"{list_names(list(map(str, summary.names)), 20)}."
                )
            self._whole_coding, self._table_names = coding, [*numeric, *given]
            self.n_features_in_ = len(self._table_names)
            self.feature_names_in_ = np.asarray(self._table_names, dtype=object)
            # This also finds the groups of MFA.
            self._roles(dict.fromkeys(numeric, "number") | dict.fromkeys(given, "category"))
            self._solve(summary, Plan(Covariance(), 0, 0, "from a summary"))
            self.summary_, self._dtype = copy_of(summary), np.float64
        return self

    # ---- Scores, and rows rebuilt from them

    def _scoring(self) -> CodedScores:
        return CodedScores(self.coding_, (self.components_ / self.scale_).T, self.mean_)

    def transform(self, X: TableLike, *, n_components: int | None = None) -> np.ndarray:
        """The coordinates of the rows of `X`; one pass.

        A level that did not occur in the fit is passive: the row is where it would be with an average entry there. One
        warning names such levels, except for rows of Dask and Spark, which are mapped later.
        """
        check_is_fitted(self)
        maps = self._transform_maps(X)
        found = results(maps)
        if not maps[0].source.traits.remote:
            # The workers of an engine see the levels later, and elsewhere.
            maps[0].function.warn()  # type: ignore[attr-defined] # that of `_scoring`
        return found

    def fit_transform(
        self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
    ) -> np.ndarray:
        """Fit to `X`, then transform it."""
        # The rows of the fit have supplementary columns, too.
        return self.fit(X, y, sample_weight).transform(X)

    def transform_to(
        self,
        X: TableLike,
        path: str | PathLike[str],
        *,
        n_components: int | None = None,
        keep: Sequence[str] = (),
        overwrite: bool = False,
    ) -> str:
        """Write what `transform` returns for `X` to a file; for the arguments see `PCA.transform_to`."""
        maps = first_components(self, n_components)._transform_maps
        return self._write(maps, X, path, "transform_to", keep, overwrite, list(self.coding_.columns))

    def scores(self, X: TableLike) -> np.ndarray:
        """The coordinates of the rows of `X`; always an array, regardless of `set_output`."""
        check_is_fitted(self)
        return self._map(X, self._scoring(), "scores")

    def squared_distances(self, X: TableLike) -> np.ndarray:
        """The squared distance of each row of `X` from the mean, of which the squared scores on all components are
        the parts: |(x - mean) / scale|^2 for a coded row x."""
        check_is_fitted(self)
        coding, weights, a = self.coding_, 1.0 / self.scale_**2, len(self.coding_.numbers)
        # For each category the squared lengths by levels, and zero for entries without level, whose code is -1.
        of_levels = []
        for name in coding.categories:
            q, p = weights[coding.columns[name]], self.mean_[coding.columns[name]]
            of_levels.append(np.append(q @ p**2 + q * (1.0 - 2.0 * p), 0.0))

        def squares(block: Categories) -> np.ndarray:
            coded = coding(block)
            found = (coded.numbers - self.mean_[:a]) ** 2 @ weights[:a]
            for j, lengths in enumerate(of_levels):
                found += lengths[coded.codes[:, j]]
            return found

        return self._map(X, squares, "squared_distances")

    def _lift(self) -> Array:
        return self.components_ * self.scale_

    def inverse_transform(self, X: TableLike) -> np.ndarray:
        """Numbers and probabilities of levels from the scores `X`, one column for each coded column.

        mean + scale * sum_k z_k w_k, in which the entries of each category are cut off at zero and divided by their
        sum, so that they are probabilities.
        """
        check_is_fitted(self)
        return framed_results(self, self._inverse_maps(X), X)

    def _inverse_maps(self, X: Any) -> Maps:
        source = self._open_scores(X)
        k, lift = source.shape[1], self._lift()
        pieces = [self.coding_.columns[name] for name in self.coding_.categories]

        def rebuilt(Z: Array) -> Array:
            rows = dense(Z).astype(np.float64) @ lift[:k] + self.mean_
            for piece in pieces:
                shares = np.clip(rows[:, piece], 0.0, None)
                rows[:, piece] = shares / shares.sum(axis=1, keepdims=True)
            return rows

        return [RowMap(source, rebuilt, self._row_names)]

    def most_probable(self, X: TableLike) -> np.ndarray:
        """The numbers and the most probable level of each category from the scores `X`, as an array of objects with a
        column for each active column, numbers first."""
        shares = np.asarray(RowMap(*self._most_probable_map(X)).result())
        out = np.empty((len(shares), len(self.coding_.columns)), dtype=object)
        for j, (name, piece) in enumerate(self.coding_.columns.items()):
            entries = shares[:, piece]
            if name in self.coding_.numbers:
                out[:, j] = entries[:, 0]
            else:
                levels = np.asarray(self.levels_[name], dtype=object)
                out[:, j] = levels[entries.argmax(axis=1)]
        return out

    def _most_probable_map(self, X: Any) -> tuple[Any, ...]:
        each = self._inverse_maps(X)[0]
        return each.source, each.function, each.names

    def _row_names(self) -> list[str]:
        return self.coding_.names

    def _describe_columns(self) -> str:
        n, levels = len(self.coding_.numbers), sum(self.coding_.widths)
        parts = [f"{n} number{'s' * (n != 1)}"] if n else []
        if self.coding_.categories:
            parts.append(f"{len(self.coding_.categories)} categories with {levels} levels")
        return " and ".join(parts)

    def _importance(self) -> list[tuple[str, Array]]:
        ratio = self.explained_variance_ratio_
        return [("inertia", self.explained_variance_), ("proportion", ratio), ("cumulative", np.cumsum(ratio))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.string = True
        tags.array_api_support = False
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def too_wide(width: int) -> ValueError:
    """The error for more coded columns than are taken."""
    return ValueError(
        f"there are {width} levels and numbers in all, and at most {_DENSE_UP_TO} are taken. Pool rare levels "
        "(min_frequency), or leave out columns with many. PCA takes any number of columns of numbers."
    )


class CodedScores:
    """Maps blocks of numbers and categories to scores (x - mean) A: the rows of A that belong to the levels of a row
    are added up, so that no zeros and ones are made of the levels."""

    def __init__(self, coding: Coding, A: np.ndarray, mean: np.ndarray) -> None:
        self._coding, self._a = coding, len(coding.numbers)
        self._A, self._mean = A[: self._a], mean[: self._a]
        # The row after the levels of a category is that of an entry without level, which is at the mean.
        self._tables = []
        for name in coding.categories:
            piece = coding.columns[name]
            centred = A[piece] - mean[piece] @ A[piece]
            self._tables.append(np.vstack([centred, np.zeros((1, A.shape[1]))]))
        self._new: dict[str, dict[str, None]] = {}

    def __call__(self, block: Categories) -> np.ndarray:
        coded = self._coding(block)
        scores = (coded.numbers - self._mean) @ self._A
        for j, table in enumerate(self._tables):
            # The code of no level is -1, which is the last row.
            codes = coded.codes[:, j]
            scores += table[codes]
            if codes.size and codes.min() == NO_LEVEL:
                known = self._coding.lookups[j]
                new = [label for label in block.labels[j] if label not in known]
                if new:
                    self._new.setdefault(self._coding.categories[j], {}).update(dict.fromkeys(new))
        return scores

    def warn(self) -> None:
        """Warn of levels that did not occur in the fit."""
        if self._new:
            found = {name: list(labels) for name, labels in self._new.items()}
            warn_user(f"levels that did not occur in the fit, and are passive: {_listed(found)}.", CategoryWarning)


def column_names(given: Sequence[Any] | str | None) -> list[str]:
    """Names of columns as text; those of pandas may be numbers."""
    return [given] if isinstance(given, str) else [str(name) for name in given or []]


def _listed(levels: Mapping[str, Sequence[str]]) -> str:
    """Levels by the names of their columns, as text, of which the first are named."""
    named = [f"{list_names(list(labels))} of {name!r}" for name, labels in levels.items()]
    more = f"; and of {len(named) - _COLUMNS_NAMED} further columns" if len(named) > _COLUMNS_NAMED else ""
    return "; ".join(named[:_COLUMNS_NAMED]) + more


def numbers_scale(moments: Any, a: int) -> np.ndarray:
    """1 / variance of the first `a` columns, which are numbers; one for those that are constant."""
    squares = np.diagonal(moments.scatter)[:a] if hasattr(moments, "scatter") else moments.squares[:a]
    variance = squares / moments.weight
    constant = is_constant(np.sqrt(variance), moments.mean[:a])
    return 1.0 / np.where(constant, 1.0, variance)
