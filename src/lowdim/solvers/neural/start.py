"""Where training starts: the network that maps rows as PCA does or, if it is variational, as probabilistic PCA does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..._xp import Array, asarray_like
from ...errors import squared_error_out_of_range
from ...summaries.latent import LatentGaussian
from .network import Network
from .paths import path_at, path_like

#: Latent variables are scores divided by their standard deviation, or by this share of `unit` if that is larger.
_NARROW = 1e-3


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Principal components of rows with isotropic noise, as NumPy arrays, and the same as a density."""

    #: Unit vectors, (k, p), and the lengths of the loadings along them, (k,).
    axes: np.ndarray
    lengths: np.ndarray
    #: The standard deviation of the noise.
    deviation: float
    gaussian: LatentGaussian


@dataclass(frozen=True)
class Design:
    """What is known of a network before rows are read."""

    k: int
    hidden: tuple[int, ...] = ()
    activation: str = "silu"
    variational: bool = False
    #: Torch modules that take the place of hidden layers.
    encoder: Any = None
    decoder: Any = None

    @property
    def is_linear(self) -> bool:
        """Whether there is nothing but the linear maps."""
        return not self.hidden and self.encoder is None and self.decoder is None

    def count(self, p: int) -> int:
        """The number of parameters of hidden layers and linear maps."""
        outputs = 2 * self.k if self.variational else self.k
        ways = ((p, *self.hidden, outputs), (self.k, *self.hidden[::-1], p))
        layers = sum(i * o for way in ways for i, o in pairwise(way)) if self.hidden else 0
        return layers + (outputs + self.k) * p


def start_network(design: Design, linear: LinearSolution, seed: int, like: Array, dtype: Any) -> Network:
    """The network at the linear solution. Components beyond those that the rows have begin with zero effect."""
    random = np.random.default_rng(seed)
    k0, p = linear.axes.shape
    extra = design.k - k0
    # The largest length is divided out first, since its square may overflow.
    top = max(float(np.max(linear.lengths)), linear.deviation)
    unit = top * math.sqrt((float(np.sum((linear.lengths / top) ** 2)) + p * (linear.deviation / top) ** 2) / p)
    if not 0.0 < unit * unit < math.inf:
        raise squared_error_out_of_range(unit)
    axes, lengths, noise = linear.axes, linear.lengths / unit, (linear.deviation / unit) ** 2
    variances = lengths**2 + noise
    if design.variational:
        # [2] eqs. 6, 7: the posterior of probabilistic PCA, whose covariance is diagonal for orthogonal loadings.
        widths = np.ones(design.k)
        encode = np.hstack([axes.T * (lengths / variances), np.zeros((p, extra))])
        matrix = np.hstack([encode, np.zeros((p, design.k))])
        offset = np.concatenate([np.zeros(design.k), np.log(noise / variances), np.zeros(extra)])
        decode = np.vstack([lengths[:, None] * axes, np.zeros((extra, p))])
    else:
        widths = np.concatenate([np.maximum(np.sqrt(variances), _NARROW), np.ones(extra)])
        # Further latent variables are random at first, and the decoder does not use them.
        matrix = np.hstack([axes.T / widths[:k0], random.standard_normal((p, extra)) / math.sqrt(p)])
        offset = np.zeros(design.k)
        decode = np.vstack([widths[:k0, None] * axes, np.zeros((extra, p))])
        widths = widths * unit
    encoder = path_at(matrix, offset, () if design.encoder else design.hidden, design.activation, random)
    decoder = path_at(decode, np.zeros(p), () if design.decoder else design.hidden[::-1], design.activation, random)
    return Network(
        mean=asarray_like(linear.gaussian.mean, like, dtype=dtype),
        unit=unit,
        widths=asarray_like(widths, like, dtype=dtype),
        encoder=path_like(encoder, like, dtype),
        decoder=path_like(decoder, like, dtype),
        gaussian=linear.gaussian,
        log_noise=math.log(noise) if design.variational else None,
    )
