"""Parameters that scikit-learn's own rules check."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted


class SklearnParameters:
    """Mixin of classes with scikit-learn's parameters.

    `_parameter_constraints` are those of scikit-learn's class, so that invalid values raise scikit-learn's own error.
    The options of the model that scikit-learn's class does not have are attributes of the class.
    """

    _parameter_constraints: dict[str, Any]
    _not_taken: ClassVar[dict[str, str]]
    _frames_everywhere = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # All arguments of scikit-learn's class are taken.
        cls._not_taken = {}

    @property
    def component_names_(self: Any) -> list[str]:
        """scikit-learn's names of components: pca0, pca1, ..."""
        check_is_fitted(self)
        return [f"{type(self).__name__.lower()}{k}" for k in range(self.n_components_)]

    def _check_parameters(self: Any) -> None:
        self._validate_params()
        super()._check_parameters()  # type: ignore[misc] # of the model that follows in the order of the bases
