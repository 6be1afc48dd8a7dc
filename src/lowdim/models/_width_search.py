"""The width of a kernel by a search, as a part of a fit."""

from __future__ import annotations

import numbers
from typing import Any

from ..errors import choice, needs_second_reading
from ..kernels import no_width
from ..reading import Rows
from ..selection.kernel_width import SAMPLED_ROWS, WidthChoice, compare_widths
from ..solvers.kernel import KernelRequest
from ..summaries import Sample


class WidthSearch:
    """Mixin of models with the parameter `sigma`, which is a width, or "search" for the criterion of `choose_width`."""

    sigma: Any
    gamma: Any
    n_components: Any
    _given_kernel: Any

    def _searches_width(self) -> bool:
        return isinstance(self.sigma, str) and self.sigma == "search"

    def _check_sigma(self) -> None:
        """Refuse a text that is not "search", and a search for a kernel without a width or without a number of
        components; numbers are checked by the kernel."""
        if not isinstance(self.sigma, str):
            return
        if not self._searches_width():
            raise choice("sigma", self.sigma, ("search",), "Or a positive number, or None.")
        kernel = self._given_kernel()
        if kernel is None:
            raise ValueError("sigma='search': kernel='precomputed' has no width; leave sigma at None.")
        if self.gamma is not None:
            raise ValueError(f"gamma={self.gamma!r} and sigma='search' both set the width; pass only one of them.")
        if not isinstance(self.n_components, numbers.Integral):
            raise ValueError(
                f"sigma='search' compares widths for a number of components, got n_components={self.n_components!r}; "
                "pass a whole number."
            )
        if not kernel.has_width:
            raise no_width(kernel)

    def _compare_widths(self, rows: Rows, request: KernelRequest) -> WidthChoice:
        """The widths that were compared, after one pass over the rows."""
        if not rows.traits.rereadable:
            raise needs_second_reading("for the fit after the search of the width")
        assert request.kernel is not None and request.k is not None, "refused by _check_sigma"
        sample = rows.summarize(Sample(rows.shape[1], SAMPLED_ROWS, seed=request.sample_seed))
        return compare_widths(sample, request.kernel, request.k, seed=request.seed)
