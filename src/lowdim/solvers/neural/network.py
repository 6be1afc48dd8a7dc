"""A fitted auto-encoder as functions of blocks of rows, for arrays of any library.

Inside, rows are v = (x - mean) / unit and latent variables u; scores are z = widths u.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..._core.arrays import Array, asarray_like, astype, dense, device, namespace, to_numpy, wide_dtype
from ..._core.schema import Instance, Maybe, Numbers, Real, Text, TupleOf
from ...errors import needs_memory
from ...summaries.latent import LatentGaussian, observed_entries
from ...summaries.moments import Moments
from ..problem import AnySolver, Cost, Job, RowsLike, Status

#: Logarithms of variances of the posterior are at most this; those of the prior are zero. Far from the rows of the fit,
#: where the encoder is nearly linear, they would grow without bounds.
MOST_LOG_VARIANCE = 2.0
#: Factors with which squares in float32 stay in the range of float32.
_FLOAT32_FACTORS = 1e-28, 1e28


@dataclass(frozen=True, eq=False)
class Network:
    """Encoder and decoder, and the units between which they map.

    Parameters
    ----------
    mean : array of shape (p,)
    unit : float
        The number by which centred rows are divided.
    widths : array of shape (k,)
        Scores divided by latent variables.
    encoder, decoder : paths, from v to u and back
        With `log_noise`, the encoder returns the mean of u and then the logarithm of its variance.
    gaussian : LatentGaussian
        The linear model, by whose expectations missing entries are filled in before they are encoded.
    log_noise : float, optional
        The logarithm of the variance of v given u, in a variational auto-encoder.
    """

    mean: Array = field(metadata={"kind": Numbers("p")})
    unit: float = field(metadata={"kind": Real("positive")})
    widths: Array = field(metadata={"kind": Numbers("*", sign="positive")})
    encoder: Any = field(metadata={"kind": Instance("models.Path")})
    decoder: Any = field(metadata={"kind": Instance("models.Path")})
    gaussian: LatentGaussian = field(metadata={"kind": Instance("models.LatentGaussian", shares="p")})
    log_noise: float | None = field(default=None, metadata={"kind": Maybe(Real())})

    @property
    def k(self) -> int:
        """The number of latent variables."""
        return int(self.widths.shape[0])

    def check(self, k: int, p: int, variational: bool) -> None:
        """Raise a ValueError if the parts do not fit together, or not to k components of p columns."""
        self.encoder.check()
        self.decoder.check()
        ways = tuple(self.encoder.matrix.shape), tuple(self.decoder.matrix.shape)
        if ways != ((p, 2 * k if variational else k), (k, p)) or self.widths.shape[0] != k:
            raise ValueError("the network does not have the shape that the parameters say")
        if variational != (self.log_noise is not None) or self.gaussian.loadings.shape[1] != p:
            raise ValueError("the network is not of the kind that the parameters say")

    def standardized(self, block: Array) -> tuple[Array, Array | None]:
        """v for the rows of a block, with expectations for missing entries, and which entries are known; None if all
        are."""
        rows = dense(block)
        xp = namespace(rows)
        missing = xp.isnan(rows)
        known = None
        if bool(xp.any(missing)):
            known = ~missing
            g = self.gaussian
            u = g.expect(observed_entries(rows, False))[0]
            rows = xp.where(missing, astype(g.mean + g.scale * (u.T @ g.loadings), rows.dtype), rows)
        return (rows - astype(self.mean, rows.dtype)) / self.unit, known

    def scores(self, block: Array) -> Array:
        """The scores of rows."""
        V, _ = self.standardized(block)
        return self.encoder(V)[:, : self.k] * astype(self.widths, V.dtype)

    def centred_rows(self, Z: Array) -> Array:
        """Rows minus their mean, from scores. If there are fewer columns than latent variables, the others are zero."""
        xp = namespace(Z)
        if Z.shape[1] < self.k:
            shape = (Z.shape[0], self.k - Z.shape[1])
            Z = xp.concat([Z, xp.zeros(shape, dtype=Z.dtype, device=device(Z))], axis=1)
        return self.decoder(Z / astype(self.widths, Z.dtype)) * self.unit

    def reconstructed(self, V: Array) -> Array:
        """v after encoding and decoding."""
        return self.decoder(self.encoder(V)[:, : self.k])

    def errors(self, block: Array) -> Array:
        """Squared distances of rows to their reconstructions, over the known entries; in float64 if squares of float32
        rows may be out of range."""
        found = self.errors_of_units(block)
        factor = self.unit**2
        if not _FLOAT32_FACTORS[0] < factor < _FLOAT32_FACTORS[1]:
            found = astype(found, wide_dtype(found))
        return found * factor

    def errors_of_units(self, block: Array) -> Array:
        """The same in units of v."""
        V, known = self.standardized(block)
        return _squares(V - self.reconstructed(V), known)

    def filled(self, block: Array) -> Array:
        """The rows, with their reconstructions in place of missing entries."""
        V, known = self.standardized(block)
        if known is None:
            return dense(block)
        rows = self.reconstructed(V) * self.unit + astype(self.mean, V.dtype)
        return namespace(V).where(known, dense(block), rows)

    def bounds(self, block: Array) -> Array:
        """The evidence bound of each row, E ln p(x | u) - KL(q(u | x) || N(0, I)), over the known entries [1].

        The expectation is a mean over points of the right mean and covariance. It is exact for a linear decoder.
        """
        if self.log_noise is None:
            raise ValueError("the model was fitted with variational=False and has no evidence bound: fit it again.")
        V, known = self.standardized(block)
        xp, k = namespace(V), self.k
        found = self.encoder(V)
        mean, log_variance = found[:, :k], xp.clip(found[:, k:], None, MOST_LOG_VARIANCE)
        deviation = xp.exp(0.5 * log_variance)
        points = asarray_like(expectation_points(k), V, dtype=V.dtype)
        m = points.shape[0]
        squares = sum(_squares(V - self.decoder(mean + deviation * points[i, :]), known) for i in range(m)) / m
        count = V.shape[1] if known is None else xp.sum(astype(known, V.dtype), axis=1)
        constant = math.log(2.0 * math.pi) + self.log_noise + 2.0 * math.log(self.unit)
        divergence = 0.5 * xp.sum(xp.exp(log_variance) + mean * mean - 1.0 - log_variance, axis=1)
        return -0.5 * (squares * math.exp(-self.log_noise) + count * constant) - divergence


def _squares(residual: Array, known: Array | None) -> Array:
    """Sums of squares of the rows, over the known entries."""
    xp = namespace(residual)
    squares = residual * residual
    return xp.sum(squares if known is None else squares * astype(known, residual.dtype), axis=1)


@lru_cache(maxsize=16)
def expectation_points(k: int) -> np.ndarray:
    """Points z whose mean of a function stands for its expectation under N(0, I), (m, k) with m = max(32, 4 k).

    They are random numbers and their negatives, multiplied by the matrix that makes their second moments I. So the mean
    is exact for polynomials of degree at most three. For other functions it has the error of so many random numbers.
    """
    half = np.random.default_rng(k).standard_normal((max(16, 2 * k), k))
    root = np.linalg.cholesky(half.T @ half / len(half))
    half = np.linalg.solve(root, half.T).T
    return np.concatenate([half, -half])


def _tanh(H: Array) -> Array:
    return namespace(H).tanh(H)


def _relu(H: Array) -> Array:
    xp = namespace(H)
    return xp.where(H > 0, H, xp.zeros_like(H))


def _silu(H: Array) -> Array:
    # h / (1 + exp(-h)), in a form that cannot overflow.
    return 0.5 * H * (1.0 + namespace(H).tanh(0.5 * H))


#: Activations by name, which is also that in `torch.nn.functional`.
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"silu": _silu, "tanh": _tanh, "relu": _relu}


# One direction of an auto-encoder, from rows to latent variables or back: a linear map plus hidden layers.
#
#     f(v) = v A + a + act(... act(v W_1 + b_1) ...) W_m
#
# The linear map begins at the solution of PCA and the last weights W_m at zero, so that the sum begins there too.


@dataclass(frozen=True, eq=False)
class Path:
    """A linear map plus hidden layers; none of them if `weights` is empty.

    Parameters
    ----------
    matrix : array of shape (i, o)
    offset : array of shape (o,)
    weights : tuple of arrays of shapes (i, h1), (h1, h2), ..., (hm, o)
    biases : tuple of arrays of shapes (h1,), ..., (hm,)
    activation : str
        A name of the table `ACTIVATIONS`.
    """

    matrix: Array = field(metadata={"kind": Numbers("i", "o")})
    offset: Array = field(metadata={"kind": Numbers("o")})
    weights: tuple[Array, ...] = field(default=(), metadata={"kind": TupleOf(Numbers("*", "*"))})
    biases: tuple[Array, ...] = field(default=(), metadata={"kind": TupleOf(Numbers("*"))})
    activation: str = field(default="silu", metadata={"kind": Text(ACTIVATIONS)})

    def __call__(self, V: Array) -> Array:
        """f(v) for each row v of V, in the dtype of V."""
        found = V @ astype(self.matrix, V.dtype) + astype(self.offset, V.dtype)
        if not self.weights:
            return found
        act, H = ACTIVATIONS[self.activation], V
        for W, b in zip(self.weights[:-1], self.biases, strict=True):
            H = act(H @ astype(W, V.dtype) + astype(b, V.dtype))
        return found + H @ astype(self.weights[-1], V.dtype)

    def check(self) -> None:
        """Raise a ValueError if the shapes do not fit together."""
        widths = [self.matrix.shape[0], *(b.shape[0] for b in self.biases), self.matrix.shape[1]]
        expected = list(pairwise(widths)) if self.weights else []
        if [tuple(W.shape) for W in self.weights] != expected or (self.biases and not self.weights):
            raise ValueError("the layers of the network do not fit together")
        if self.offset.shape[0] != self.matrix.shape[1] or self.activation not in ACTIVATIONS:
            raise ValueError("the layers of the network do not fit together")


def path_at(
    matrix: np.ndarray, offset: np.ndarray, hidden: tuple[int, ...], activation: str, random: np.random.Generator
) -> Path:
    """The path whose layers add nothing yet to the linear map: random weights, of variance 1 / (their inputs), and
    zeros at the end."""
    if not hidden:
        return Path(matrix, offset, activation=activation)
    widths = (matrix.shape[0], *hidden)
    weights = [random.standard_normal((i, o)) / np.sqrt(i) for i, o in pairwise(widths)]
    biases = [0.1 * random.standard_normal(h) for h in hidden]
    weights.append(np.zeros((hidden[-1], matrix.shape[1])))
    return Path(matrix, offset, tuple(weights), tuple(biases), activation)


def path_like(path: Path, like: Array, dtype: Any) -> Path:
    """The path with arrays in the namespace, on the device and in the dtype of the rows."""

    def move(x: Any) -> Array:
        return asarray_like(x, like, dtype=dtype)

    weights, biases = tuple(map(move, path.weights)), tuple(map(move, path.biases))
    return Path(move(path.matrix), move(path.offset), weights, biases, path.activation)


# Where training starts: the network that maps rows as PCA does or, if it is variational, as probabilistic PCA does.


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
        raise ValueError(
            f"the rows have a standard deviation of about {unit:.1g}, whose square is outside the range of "
            "floating-point numbers. Rescale the columns (divide them by a constant)."
        )
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


# The request for an auto-encoder, the job that a plan is made for, and the base class of solvers.


@dataclass(frozen=True, eq=False)
class NeuralRequest:
    """The network to train, and where training starts."""

    design: Design
    seed: int = 0
    #: The network at the linear solution.
    start: Network | None = None
    #: If the rows are the first window of a stream, the others.
    later: Iterable[Any] | None = None


@dataclass(frozen=True)
class NeuralJob(Job):
    """The job of training a network on n rows of p columns."""

    design: Design = Design(1)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row."""
        return max(1.0, self.p * self.traits.itemsize * self.traits.stored)

    @property
    def parameters_bytes(self) -> int:
        """Bytes of the parameters."""
        return self.design.count(self.p) * self.traits.itemsize

    @property
    def scores_bytes(self) -> int:
        """Bytes of the covariance of the scores."""
        return 8 * self.design.k**2


@dataclass(frozen=True, eq=False)
class NeuralFit:
    """A trained network."""

    network: Network
    #: The loss of the rows that it is judged by, per row, at the start and after each epoch; and that of the training
    #: rows in each epoch. Both are mean squared errors in the units of the rows, or minus the evidence bound.
    loss: list[float]
    training_loss: list[float]
    status: Status
    #: Passes over the rows.
    passes: int
    #: The number of rows that were held out from training, and of rows of later windows of a stream.
    n_held_out: int
    n_later: int = 0


class NeuralSolver(AnySolver):
    """A solver that finds the parameters of an auto-encoder.

    Examples
    --------
    >>> from lowdim.solvers import NEURAL_SOLVERS, NeuralSolver
    >>> {name: issubclass(solver, NeuralSolver) for name, solver in NEURAL_SOLVERS.items()}
    {'linear': True, 'adam': True}
    """

    def _trained(self, rows: RowsLike, request: NeuralRequest) -> NeuralFit:
        """The trained network."""
        return self.train(rows, request, request.later)

    @abstractmethod
    def train(self, rows: RowsLike, request: NeuralRequest, later: Iterable[Any] | None = None) -> NeuralFit:
        """The network, from the one at the linear solution; `later` are further windows of a stream."""

    def too_large(self, job: NeuralJob, n_bytes: int) -> MemoryError:
        what = f"solver={self.name!r} with {job.k} components of {job.p} columns"
        return needs_memory(what, n_bytes, job.memory, "Ask for fewer components, or for narrower hidden layers.")

    @property
    def few_rows(self) -> int:
        """Up to this number, rows are put in order and equal ones are merged; see `merged`."""
        return 0

    def window_rows(self, job: NeuralJob) -> int:
        """The number of rows of a stream that are read before training begins; 0 if it need not be cut."""
        return 0


@dataclass(frozen=True)
class LinearOptimum(NeuralSolver):
    """The optimum of an auto-encoder without hidden layers, by PCA or, if it is variational, by probabilistic PCA.

    With linear maps and squared errors, every local minimum is a global one, and is reached on the principal subspace
    [1]_. The evidence bound of a linear decoder reaches the likelihood of probabilistic PCA [2]_. The rows are read as
    PCA reads them, and torch is not needed.

    References
    ----------
    .. [1] Baldi, Hornik (1989), Neural networks and principal component analysis: learning from examples without local
       minima.
    .. [2] Lucas, Tucker, Grosse, Norouzi (2019), Don't blame the ELBO! A linear VAE perspective on posterior collapse.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import AutoEncoder
    >>> model = AutoEncoder(1, hidden=(), solver="linear").fit([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0]])
    >>> model.solver_
    'linear'
    """

    name: ClassVar[str] = "linear"
    on_host = "the solve of PCA"

    def refusal(self, job: NeuralJob) -> Exception | None:
        if not job.design.is_linear:
            return ValueError(
                "solver='linear' is for networks without hidden layers: pass hidden=() and no modules, or use "
                "solver='adam'."
            )
        return None

    def is_sensible(self, job: NeuralJob) -> bool:
        return job.design.is_linear

    def cost(self, job: NeuralJob) -> Cost:
        n_bytes = job.parameters_bytes + job.scores_bytes
        return Cost(0.0, 0, n_bytes, "without hidden layers the optimum is the solution of PCA")

    def train(self, rows: RowsLike, request: NeuralRequest, later: Iterable[Any] | None = None) -> NeuralFit:
        assert request.start is not None, "a request without a start can be planned but not solved"
        return NeuralFit(request.start, [], [], Status.EXACT, 0, 0)


# One pass over the rows after training: the distribution of the scores, and the losses of two networks.


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Means over the rows, with their weights."""

    #: Mean (k,) and covariance (k, k) of the scores, divisor n, in units of the network.
    mean: np.ndarray
    covariance: np.ndarray
    #: Mean squared error of a row, in units of the network; and mean loss: the same, or minus the evidence bound.
    error: float
    loss: float
    #: The mean loss of the other network.
    other_loss: float


def evaluate(rows: RowsLike, network: Network, other: Network) -> Evaluation:
    """Scores and losses of all rows, in one pass."""
    k = network.k

    def results(block: Array) -> Array:
        xp = namespace(block)
        errors = network.errors_of_units(block)
        if network.log_noise is None:
            losses, others = errors, other.errors_of_units(block)
        else:
            losses, others = -network.bounds(block), -other.bounds(block)
        beside = [network.scores(block) / network.unit, *(each[:, None] for each in (errors, losses, others))]
        return xp.concat(beside, axis=1)

    moments = rows.mapped(results).summarize(Moments(k + 3, wide=True))
    mean, scatter = to_numpy(moments.mean).astype(np.float64), to_numpy(moments.scatter).astype(np.float64)
    return Evaluation(mean[:k], scatter[:k, :k] / moments.weight, *map(float, mean[k:]))
