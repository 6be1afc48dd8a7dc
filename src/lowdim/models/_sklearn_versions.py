"""What differs between the versions of scikit-learn that lowdim works with. Nothing else in lowdim asks for a version.

- Callbacks exist from version 1.9 on. Before that, models have no `set_callbacks`.
- From version 1.7 on, the HTML of an estimator is made by its method `_html_repr`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sklearn
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ModuleNotFoundError:

    def _refuse_callbacks(model: Any) -> bool:
        raise AttributeError(
            f"callbacks need scikit-learn 1.9 or newer, and {sklearn.__version__} is installed; upgrade scikit-learn, "
            "or fit without callbacks."
        )

    class CallbackSupportMixin:  # type: ignore[no-redef] # in place of the import
        """Says which version of scikit-learn has callbacks."""

        @available_if(_refuse_callbacks)
        def set_callbacks(self, *callbacks: Any) -> Any:
            """Not available before scikit-learn 1.9."""

    def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
        """`fit` itself, for it has nobody to report to."""
        return fit


if hasattr(BaseEstimator, "_html_repr"):
    Estimator = BaseEstimator
else:

    class Estimator(BaseEstimator):  # type: ignore[no-redef, misc]
        """An estimator whose HTML is made by `_html_repr`, as in newer versions."""

        def _html_repr(self) -> str:
            return estimator_html_repr(self)

        def _repr_html_inner(self) -> str:
            return self._html_repr()

        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
            bundle = {"text/plain": repr(self)}
            return bundle | {"text/html": self._html_repr()} if get_config()["display"] == "diagram" else bundle


__all__ = ["CallbackSupportMixin", "Estimator", "with_callbacks"]
