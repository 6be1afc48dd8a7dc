"""Progress of a fit, or of results on their way to a file, reported to scikit-learn's callbacks.

`sklearn.callback.ProgressBar` is one of them.
"""

from __future__ import annotations

from typing import Any


class CallbackProgress:
    """A callback task for a method, with a subtask for each pass over the rows and a leaf for each block."""

    def __init__(self, estimator: Any, X: Any, y: Any, method: str) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        self._fit = estimator._init_callback_context(task_name=method, max_subtasks=None)
        self._fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        self._pass: Any = None

    def begin(self, what: str, n_blocks: int | None, block_rows: int | None = None) -> None:
        """Report the beginning of a pass."""
        self._pass = self._fit.subcontext(task_name=what, max_subtasks=n_blocks)
        self._pass.call_on_fit_task_begin(estimator=self._estimator)

    def step(self) -> None:
        """Report a finished block."""
        leaf = self._pass.subcontext(task_name="block")
        leaf.call_on_fit_task_begin(estimator=self._estimator)
        leaf.call_on_fit_task_end(estimator=self._estimator)

    def end(self) -> None:
        """Report the end of the pass."""
        self._pass.call_on_fit_task_end(estimator=self._estimator)

    def finish(self) -> None:
        """Report the end of the method."""
        self._fit.call_on_fit_task_end(estimator=self._estimator, X=self._X, y=self._y)


def callback_progress(estimator: Any, X: Any, y: Any, method: str = "fit") -> CallbackProgress | None:
    """The progress of a method of `estimator`, or None if it has no callbacks."""
    if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
        return CallbackProgress(estimator, X, y, method)
    return None
