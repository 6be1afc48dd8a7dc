"""Training of an auto-encoder in torch: modules, examples, held-out rows, and the loop over batches."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ..._core.arrays import Array, asarray_like, astype, dense, dtype_like, is_sparse, namespace, to_numpy, wide_dtype
from ..._core.threads import check_stop, watcher
from ...errors import missing_extra, wrong_module_width
from ...summaries.sample import mixed_bits
from ..problem import Cost, RowsLike, Status
from .network import (
    MOST_LOG_VARIANCE,
    Design,
    Network,
    NeuralFit,
    NeuralJob,
    NeuralRequest,
    NeuralSolver,
    Path,
    expectation_points,
)

#: The window of rows that are shuffled together has at most this many bytes, unless its size is given.
_WINDOW_BYTES = 256 << 20


@dataclass(frozen=True)
class Adam(NeuralSolver):
    """Stochastic gradients with the steps of Adam [1]_, from the solution of PCA.

    Parameters
    ----------
    rate : float, default=0.001
        The size of the first steps. Whenever the loss of held-out rows has not decreased for `patience` epochs,
        training goes back to the best state, with 0.3 times the rate; when that has happened three times, it ends.
    batch : int, default=128
        Rows of a step; all rows if there are at most twice as many.
    max_epochs : int, default=300
        The most passes over the training rows. (Of few rows, an epoch is several steps.)
    patience : int, default=5
        See `rate`.
    held_out : float, default=0.1
        The share of rows that are held out to decide when to stop, at most 10,000. They are chosen by a digest of their
        numbers. With 0, the training rows decide; if there would be fewer than five of them, 20 epochs are enough.
    window : int, default=None
        Rows that are in memory and shuffled together. The default is as many as fit into 256 MiB. If there are more,
        each epoch reads all rows again, window by window; rows that can be read only once are trained on for
        `epochs_per_window` epochs of each window.
    epochs_per_window : int, default=10
        See `window`.

    Notes
    -----
    The best state is kept: that of the lowest loss of held-out rows, or the start, should the error of all rows be
    larger than there. So the error of the rows of the fit never exceeds that of PCA. If the loss becomes NaN, training
    goes back to the best state with a tenth of the rate; after five times this is an error. Ctrl-C ends training with
    the best state so far.

    References
    ----------
    .. [1] Kingma, Ba (2015), Adam: a method for stochastic optimization.

    Examples
    --------
    >>> from lowdim import AutoEncoder, plan
    >>> from lowdim.solvers import Adam
    >>> plan(AutoEncoder(2, hidden=(32,), solver=Adam(max_epochs=20)), (1000, 10)).solver.max_epochs
    20
    """

    name: ClassVar[str] = "adam"
    on_host = "the solve of PCA and one hash of each row"
    rate: float = 1e-3
    batch: int = 128
    max_epochs: int = 300
    patience: int = 5
    held_out: float = 0.1
    window: int | None = None
    epochs_per_window: int = 10

    def __post_init__(self) -> None:
        for name in ("batch", "max_epochs", "patience", "epochs_per_window"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
        window = self.window
        if window is not None and (isinstance(window, bool) or not isinstance(window, Integral) or window < 2):
            raise ValueError(f"window={window!r} must be a whole number of at least 2, or None.")
        if isinstance(self.rate, bool) or not isinstance(self.rate, Real) or not 0.0 < self.rate < math.inf:
            raise ValueError(f"rate={self.rate!r} must be a positive number.")
        if not isinstance(self.held_out, Real) or not 0.0 <= self.held_out < 1.0:
            raise ValueError(f"held_out={self.held_out!r} must be at least 0 and less than 1.")

    @property
    def few_rows(self) -> int:
        """The largest number of rows of which each step uses all."""
        return 2 * int(self.batch)

    def window_rows(self, job: NeuralJob) -> int:
        """The number of rows of a window."""
        return self.window or max(2 * self.batch, int(_WINDOW_BYTES / job.row_bytes))

    def cost(self, job: NeuralJob) -> Cost:
        rows = self.window_rows(job) if job.n is None else min(job.n, self.window_rows(job))
        # Adam keeps two numbers for each parameter, and the best state and a gradient are kept too.
        n_bytes = int(rows * job.row_bytes) + 5 * job.parameters_bytes + job.scores_bytes
        if not job.traits.rereadable:
            passes, why = 1, f"rows that are read once are shuffled in windows of {rows}"
        elif job.n is not None and job.n <= self.window_rows(job):
            passes, why = 2, "all rows are kept in memory and shuffled in each epoch"
        else:
            passes, why = 4, f"each epoch reads the rows again and shuffles windows of {rows}"
        return Cost(6.0 * job.rows * job.design.count(job.p) * self.max_epochs, passes, n_bytes, why)

    def train(self, rows: RowsLike, request: NeuralRequest, later: Iterable[Any] | None = None) -> NeuralFit:
        require_torch()
        job = NeuralJob(*rows.shape, request.design.k, rows.traits, request.design)
        # The first window of a stream is one window, whatever its size is.
        size = self.window_rows(job) if later is None else int(rows.shape[0] or 0)
        start, design = request.start, request.design
        assert start is not None, "a request without a start can be planned but not solved"
        like = as_tensor(rows.empty(0))
        check_modules(design, rows.shape[1], like)
        supply = Supply(rows, start, self.held_out, size, request.seed, like)
        coder = CoderModule(start, design, like)
        training = _Training(coder, supply, start, self, request.seed, like, rows.progress)
        with _seeded(request, like):
            status = training.run(() if later is None else later)
        network = start
        if training.moved:
            encoder, decoder = (path.path(rows.empty(0), rows.dtype) for path in (coder.encoder, coder.decoder))
            log_noise = None if coder.log_noise is None else float(coder.log_noise.detach())
            network = replace(start, encoder=encoder, decoder=decoder, log_noise=log_noise)
        losses = training.loss, training.training_loss
        return NeuralFit(network, *losses, status, supply.passes, supply.n_held_out, training.n_later)


# Few rows in a fixed order, of which equal ones are merged.
#
# Training repeats many small steps and enlarges differences of rounding. In a fixed order, the result depends neither
# on the order in which rows were given nor on whether a row is repeated or has a weight.


def merged(X: Array, weights: Array | None) -> tuple[Array, Array]:
    """The different rows of positive weight, in ascending order, and their total weights."""
    rows = to_numpy(dense(X)) + 0.0
    counts = np.ones(len(rows), rows.dtype) if weights is None else to_numpy(weights)
    rows, counts = rows[counts > 0], counts[counts > 0]
    different, which = np.unique(rows, axis=0, return_inverse=True)
    # Weights of equal rows are added in ascending order, since sums depend on it.
    order = np.lexsort((counts, which.ravel()))
    totals = np.zeros(len(different), counts.dtype)
    np.add.at(totals, which.ravel()[order], counts[order])
    like = rows if isinstance(dense(X), np.ndarray) else X
    return asarray_like(different, like), asarray_like(totals, like)


# The rows that are held out from training, chosen by a digest of their numbers.
#
# So the choice depends neither on the order of the rows nor on blocks, passes or weights: a row is held out with all
# rows that are equal to it, and a row of weight 2 is treated as two rows are.


class HeldOut:
    """Chooses about a share of the rows."""

    def __init__(self, share: float, p: int, seed: int) -> None:
        self.share = share
        random = np.random.default_rng((seed, 2))
        #: Odd numbers, one for each column.
        self._factors = random.integers(-(2**63), 2**63 - 1, p, dtype=np.int64) | 1
        #: The digest of a row of zeros, which would always be held out if it were zero.
        self._first = random.integers(0, 2**64 - 1, dtype=np.uint64)

    def chosen(self, X: Array) -> np.ndarray:
        """Which rows of X, dense or sparse, are held out: those whose number in [0, 1) is below the share."""
        with np.errstate(over="ignore"):
            digest = mixed_bits(self._digest(X).view(np.uint64) + self._first)
        return (digest >> np.uint64(11)).astype(np.float64) * 2.0**-53 < self.share

    def _digest(self, X: Any) -> np.ndarray:
        """sum_d (bits of x_d) factor_d modulo 2^64, to which zeros add nothing."""
        if is_sparse(X):
            products = _bits(X.data) * self._factors[X.indices]
            sums = np.concatenate([[0], np.cumsum(products)])
            return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        X = X if hasattr(X, "view") else to_numpy(X)
        xp = namespace(X)
        # Of rows on a device, only the sums are copied to the host.
        return to_numpy(xp.sum(_bits(X) * xp.asarray(self._factors, device=X.device), axis=1))


def _bits(values: Array) -> Array:
    """The bits of floats as whole numbers; those of -0.0 are those of 0.0. The upper half is added to the lower one,
    which is zero for small whole numbers."""
    xp = namespace(values)
    whole = dtype_like(np.int32 if values.dtype == xp.float32 else np.int64, values)
    bits = astype((values + 0.0).view(whole), xp.int64)
    return bits ^ ((bits >> 32) & 0xFFFFFFFF)


# torch, as far as it is installed: the only file of the problem that imports it.
#
# It is read only when a network is trained, or when a module of the user is applied.


try:
    import torch
except ImportError:
    torch = None


#: Tensors, which have no types here, and the base class of modules.
Tensor = Any
Module: Any = object if torch is None else torch.nn.Module


def require_torch() -> None:
    """Raise an error that says how to install torch, if it is missing."""
    if torch is None:
        raise missing_extra("an AutoEncoder with hidden layers", "torch", "torch")


# Encoder and decoder as torch modules: for training, and for users.


def as_tensor(x: Any, like: Tensor | None = None) -> Tensor:
    """An array of any library as a tensor: on its own device if it is a tensor, otherwise on that of `like`."""
    if isinstance(x, torch.Tensor):
        found = x.detach()
    elif hasattr(x, "__cuda_array_interface__"):
        found = torch.from_dlpack(x)
    else:
        host = to_numpy(x)
        found = torch.from_numpy(host if host.flags.writeable and min(host.strides, default=0) >= 0 else host.copy())
    return found if like is None else found.to(device=like.device, dtype=like.dtype)


class PathModule(Module):
    """f(v) = v A + a + the hidden layers, or + gain times a module of the user; see `paths`."""

    def __init__(self, path: Any, module: Module | None, like: Tensor) -> None:
        super().__init__()
        self.matrix = _parameter(path.matrix, like)
        self.offset = _parameter(path.offset, like)
        self.weights = torch.nn.ParameterList([_parameter(W, like) for W in getattr(path, "weights", ())])
        self.biases = torch.nn.ParameterList([_parameter(b, like) for b in getattr(path, "biases", ())])
        self.activation: str = getattr(path, "activation", "silu")
        self.module = None if module is None else copy.deepcopy(module).to(device=like.device, dtype=like.dtype)
        # What the module adds is zero at first, so that it begins at the linear solution too.
        gain = getattr(path, "gain", None)
        gain = torch.zeros(path.offset.shape[0]) if gain is None else gain
        self.gain = None if module is None else _parameter(gain, like)

    def forward(self, V: Tensor) -> Tensor:
        found = torch.addmm(self.offset, V, self.matrix)
        if self.module is not None:
            return found + self.gain * self.module(V)
        if not len(self.weights):
            return found
        act, H = getattr(torch.nn.functional, self.activation), V
        for W, b in zip(self.weights[:-1], self.biases, strict=True):
            H = act(torch.addmm(b, H, W))
        return torch.addmm(found, H, self.weights[-1])

    def path(self, like: Array, dtype: Any) -> Any:
        """The path with these parameters, as arrays of the library of the rows."""

        def array(x: Tensor) -> Array:
            values = x.detach().clone() if isinstance(like, torch.Tensor) else to_numpy(x).copy()
            return asarray_like(values, like, dtype)

        matrix, offset = array(self.matrix), array(self.offset)
        if self.module is not None:
            return GivenPath(matrix, offset, array(self.gain), copy.deepcopy(self.module).eval())
        return Path(matrix, offset, tuple(map(array, self.weights)), tuple(map(array, self.biases)), self.activation)


@dataclass(frozen=True, eq=False)
class GivenPath:
    """A linear map plus a torch module of the user, times a gain for each result: a path that needs torch."""

    matrix: Array
    offset: Array
    gain: Array
    module: Any

    def __call__(self, V: Array) -> Array:
        """f(v) for each row v of V, in the dtype of V."""
        linear = V @ astype(self.matrix, V.dtype) + astype(self.offset, V.dtype)
        like = next(self.module.parameters(), None)
        with torch.no_grad():
            added = self.module(as_tensor(V, like))
        return linear + asarray_like(added, V, dtype=V.dtype) * astype(self.gain, V.dtype)


class CoderModule(Module):
    """Encoder and decoder of a network during training; `log_noise` is learnt with them if it is variational."""

    def __init__(self, network: Network, design: Design, like: Tensor) -> None:
        super().__init__()
        self.encoder = PathModule(network.encoder, design.encoder, like)
        self.decoder = PathModule(network.decoder, design.decoder, like)
        self.k = network.k
        variational = network.log_noise is not None
        self.log_noise = _parameter(torch.tensor(network.log_noise), like) if variational else None

    def parameter_groups(self) -> tuple[list[Any], list[Any]]:
        """The gains of modules of the user, and all other parameters."""
        gains = [path.gain for path in (self.encoder, self.decoder) if path.gain is not None]
        return gains, [each for each in self.parameters() if not any(each is gain for gain in gains)]

    def losses(self, V: Tensor, known: Tensor | None, noise: Tensor | None) -> Tensor:
        """The loss of each row, in units of v: squared errors over the known entries or, if variational, minus the
        evidence bound at u = mean + deviation * noise."""
        found = self.encoder(V)
        if self.log_noise is None:
            return _squares(V - self.decoder(found), known)
        mean, log_variance = found[:, : self.k], found[:, self.k :].clamp(max=MOST_LOG_VARIANCE)
        spread = torch.exp(0.5 * log_variance)
        squares = _squares(V - self.decoder(mean + spread * noise), known)
        count = V.shape[1] if known is None else known.sum(1)
        likelihood = 0.5 * (squares * torch.exp(-self.log_noise) + count * (self.log_noise + math.log(2.0 * math.pi)))
        return likelihood + 0.5 * (spread**2 + mean**2 - 1.0 - log_variance).sum(1)


class _HalfModule(Module):
    """What encoder and decoder of a fitted network have in common."""

    def __init__(self, network: Network, path: Any) -> None:
        super().__init__()
        like = as_tensor(network.mean)
        self.register_buffer("mean", like.clone())
        self.register_buffer("widths", as_tensor(network.widths).clone())
        self.unit, self.k = network.unit, network.k
        self.path = PathModule(path, getattr(path, "module", None), like)


class EncoderModule(_HalfModule):
    """Scores of rows, as a torch module: what `transform` computes, with gradients."""

    def __init__(self, network: Network) -> None:
        super().__init__(network, network.encoder)

    def forward(self, X: Tensor) -> Tensor:
        return self.path((X - self.mean) / self.unit)[:, : self.k] * self.widths


class DecoderModule(_HalfModule):
    """Rows from scores, as a torch module: what `inverse_transform` computes, with gradients."""

    def __init__(self, network: Network) -> None:
        super().__init__(network, network.decoder)

    def forward(self, Z: Tensor) -> Tensor:
        return self.mean + self.unit * self.path(Z / self.widths)


def check_modules(design: Design, p: int, like: Tensor) -> None:
    """Refuse modules of the user that are no modules, or whose results have the wrong shape."""
    outputs = 2 * design.k if design.variational else design.k
    for name, module, inputs, wanted in (
        ("encoder", design.encoder, p, outputs),
        ("decoder", design.decoder, design.k, p),
    ):
        if module is None:
            continue
        example = torch.zeros((2, inputs), dtype=like.dtype, device=like.device)
        copied = copy.deepcopy(module).to(device=like.device, dtype=like.dtype).eval()
        try:
            with torch.no_grad():
                shape = tuple(copied(example).shape)
        except (RuntimeError, TypeError, AttributeError) as error:
            raise wrong_module_width(name, inputs, wanted, str(error), design.variational) from error
        if shape != (2, wanted):
            raise wrong_module_width(name, inputs, wanted, f"it returns shape {shape} for 2 rows", design.variational)


def _parameter(x: Any, like: Tensor) -> Any:
    return torch.nn.Parameter(as_tensor(x, like).clone())


def _squares(residual: Tensor, known: Tensor | None) -> Tensor:
    squares = residual * residual
    return (squares if known is None else squares * known).sum(1)


# Rows for training as tensors: standardised, with their weights, and taken in batches.


class Examples:
    """Rows of a window. Dense rows are kept as tensors; sparse ones become dense batch by batch."""

    def __init__(self, network: Network, X: Array, weights: Array | None, keep: np.ndarray, like: Tensor) -> None:
        if weights is not None:
            keep = keep & (to_numpy(weights) > 0)
        index = np.flatnonzero(keep)
        self._network, self._like, self._sparse = network, like, is_sparse(X)
        self.length = len(index)
        self.weights = None if weights is None else as_tensor(to_numpy(weights)[index], like)
        rows = X if len(index) == X.shape[0] else _taken(X, index)
        self._rows: Any = rows if self._sparse else self._tensors(rows)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.length) if self.weights is None else float(self.weights.sum())

    @property
    def repeated(self) -> float:
        """The number of rows, each repeated as often as its weight says."""
        return max(float(self.length), self.total)

    def in_order(self, order: np.ndarray) -> Any:
        """Indices of the rows, of which parts can be taken; those of dense rows are on the device of the rows."""
        return order if self._sparse else torch.from_numpy(order).to(self._like.device)

    def take(self, at: Any) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """v, which entries are known (None: all), and the weights (None: one) of these rows: a part of what `in_order`
        returns, or a slice."""
        weights = None if self.weights is None else self.weights[at]
        if self._sparse:
            return (*self._tensors(self._rows[at]), weights)
        V, known = self._rows
        return V[at], None if known is None else known[at], weights

    def _tensors(self, X: Array) -> tuple[Tensor, Tensor | None]:
        V, known = self._network.standardized(X)
        return as_tensor(V, self._like), None if known is None else as_tensor(known).to(self._like)


def _taken(X: Array, index: np.ndarray) -> Array:
    """Some rows of a dense or sparse array."""
    if is_sparse(X) or isinstance(X, np.ndarray):
        return X[index]
    xp = namespace(X)
    return xp.take(X, xp.asarray(index, device=X.device), axis=0)


# The rows of a training: windows of examples, and the rows that are held out.


#: At most this many rows are held out; fewer than the second number decide nothing.
_MOST_HELD_OUT, _FEWEST_HELD_OUT = 10_000, 5


class Supply:
    """The training rows, one window after another, and the rows by which a state is judged.

    If all rows are in one window, they are read once and kept.
    """

    def __init__(self, rows: RowsLike, network: Network, share: float, size: int, seed: int, like: Tensor) -> None:
        self._rows, self._network, self._size, self._like = rows, network, size, like
        self._random = np.random.default_rng((seed, 3))
        n = rows.shape[0]
        self._choice = HeldOut(share if n is None else min(share, _MOST_HELD_OUT / n), rows.shape[1], seed)
        self.passes = 1
        windows = iter(rows.windows(size))
        first = next(windows)
        self.judges = [self._examples(first, True)]
        count, n_windows = self.judges[0].repeated, 1
        for window in windows:
            n_windows += 1
            if count < _MOST_HELD_OUT:
                self.judges.append(self._examples(window, True))
                count += self.judges[-1].repeated
        self.n_held_out = sum(each.length for each in self.judges)
        self._kept = self._examples(first, False) if n_windows == 1 else None
        if count < _FEWEST_HELD_OUT or not self.has_rows:
            # Nothing is held out, and the training rows (of a large table, the first of them) decide.
            self._choice = HeldOut(0.0, rows.shape[1], seed)
            self.judges, self.n_held_out = [self._examples(first, False)], 0
            self._kept = self.judges[0] if n_windows == 1 else None

    def epoch(self) -> Iterator[Examples]:
        """The training rows, in windows."""
        if self._kept is not None:
            yield self._kept
            return
        self.passes += 1
        for window in self._rows.windows(self._size, self._random):
            yield self._examples(window, False)

    @property
    def has_rows(self) -> bool:
        """Whether there are training rows; a window of a stream may have none of positive weight."""
        return self._kept is None or self._kept.length > 0

    def go_on(self, window: Any) -> int:
        """Take the rows of this window as training rows from now on, in place of those before; returns the number of
        all its rows of positive weight."""
        self._kept = self._examples(window, False)
        return int(window.X.shape[0]) if window.weights is None else int(np.sum(to_numpy(window.weights) > 0))

    def _examples(self, window: Any, held_out: bool) -> Examples:
        """The rows of a window that are held out, or the others."""
        return Examples(self._network, window.X, window.weights, self._choice.chosen(window.X) == held_out, self._like)


# The loop that trains an auto-encoder, with its schedule.


#: With few rows, an epoch goes through them several times, so that it has about so many steps.
_STEPS = 10
#: There is progress while the loss decreases by this share (a bound: by this much for each entry) within the patience.
_LEAST = 1e-3
#: How the rate decreases when there is no progress, how often, and what happens when the loss is no number.
_SLOWER, _TIMES, _MUCH_SLOWER, _FAILURES = 0.3, 3, 0.1, 5
#: Epochs if there are too few rows to hold some of them out, so that nobody can say when to stop.
_BLIND = 20
#: Until the start is improved on, this many times the patience is allowed.
_AT_START = 4
#: The gains of modules of the user grow faster than other parameters change, since all of a module waits for them.
_GAIN_RATE = 30.0
#: Rows that are evaluated at once.
_EVALUATED = 4096


class _Training:
    """A coder that is trained, its best state so far, and the rate of its steps."""

    def __init__(
        self, coder: CoderModule, supply: Supply, start: Network, options: Adam, seed: int, like: Tensor, progress: Any
    ) -> None:
        self._coder, self._supply, self._options, self._like = coder, supply, options, like
        self._progress, self._wide = progress, wide_dtype(like)
        self._p, self._unit = int(start.mean.shape[0]), start.unit
        self._random = np.random.default_rng((seed, 4))
        self._noise = torch.Generator(device=like.device).manual_seed(seed)
        self._points = as_tensor(expectation_points(coder.k), like)
        self._rate = float(options.rate)
        self._failures = self._reductions = self._waited = 0
        self.moved, self._progressed, self.n_later = False, False, 0
        self._best = self._reference = self._evaluate()
        self._keep_state()
        self._restart()
        self.loss, self.training_loss = [self._in_units(self._best)], list[float]()

    def run(self, later: Iterable[Any]) -> Status:
        """Train until held-out rows are no longer described better; leave the coder in its best state."""
        following = iter(later)
        window = next(following, None)
        try:
            most = int(self._options.max_epochs if window is None else self._options.epochs_per_window)
            blind = window is None and not self._supply.n_held_out and self._options.held_out and most > _BLIND
            status = self._epochs(_BLIND if blind else most)
            status = Status.FIXED_STEPS if blind else status
            while window is not None:
                self.n_later += self._supply.go_on(window)
                if self._supply.has_rows:
                    self._epochs(self._options.epochs_per_window, ends=False)
                window, status = next(following, None), Status.FIXED_STEPS
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        self._coder.load_state_dict(self._state)
        self._coder.eval()
        return status

    def _epochs(self, count: int, ends: bool = True) -> Status:
        """So many epochs, or fewer if there is no progress."""
        for _ in range(count):
            training_loss = self._epoch()
            value = self._evaluate()
            if not math.isfinite(training_loss) or not math.isfinite(value):
                self._failures += 1
                if self._failures > _FAILURES:
                    raise ValueError(
                        f"the loss was not finite, also after training went back to its best state several times, last "
                        f"with steps of size {self._rate:.1g}. Divide the columns by numbers that bring them to a "
                        f"similar size (for example with sklearn.preprocessing.StandardScaler), or pass "
                        f"solver=Adam(rate=...) with a rate below {self._options.rate:g}; if the modules are your own, "
                        "look for logarithms, roots and divisions in them."
                    )
                self._slow_down(_MUCH_SLOWER)
                continue
            self.loss.append(self._in_units(value))
            self.training_loss.append(self._in_units(training_loss))
            least = _LEAST * (1.0 if self._coder.log_noise is not None else self._reference)
            progress = value < self._reference - least
            self._progressed |= progress
            self._waited = 0 if progress else self._waited + 1
            self._reference = value if progress else self._reference
            if value < self._best:
                self._best, self.moved = value, True
                self._keep_state()
            # At the start, which is the best linear solution, the loss rises before it falls.
            at_start = not self._progressed and self._reductions == 0
            if self._waited >= int(self._options.patience) * (_AT_START if at_start else 1):
                if self._reductions < _TIMES:
                    self._slow_down(_SLOWER)
                    self._reductions += 1
                elif ends:
                    return Status.HELD_OUT
                else:
                    # There may be more to learn from later windows, so the rate becomes no smaller.
                    self._slow_down(1.0)
        return Status.NOT_CONVERGED

    def _epoch(self) -> float:
        """One epoch; returns the mean loss of its rows, for each entry, while the parameters changed."""
        self._coder.train()
        total = torch.zeros((), dtype=self._wide, device=self._like.device)
        weight = 0.0
        for examples in self._supply.epoch():
            for index in self._with_progress(list(self._batches(examples))):
                check_stop()
                V, known, counts = examples.take(index)
                draws = self._draws(V.shape[0], isinstance(index, slice))
                losses = sum(self._coder.losses(V, known, noise) for noise in draws) / (self._p * len(draws))
                of_all = float(V.shape[0]) if counts is None else counts.sum()
                loss = losses.sum() if counts is None else (losses * counts).sum()
                self._optimizer.zero_grad(set_to_none=True)
                (loss / of_all).backward()
                self._optimizer.step()
                total += loss.detach()
                weight = weight + of_all
        return float(total) / float(weight) if float(weight) > 0.0 else math.nan

    def _with_progress(self, batches: list[Any]) -> Iterator[Any]:
        """The batches, each of which is reported as a step of the progress."""
        progress = watcher(self._progress)
        if progress is None:
            yield from batches
            return
        progress.begin("Adam", len(batches), int(self._options.batch))
        try:
            for batch in batches:
                yield batch
                progress.step()
        finally:
            progress.end()

    def _batches(self, examples: Examples) -> Iterator[Any]:
        """Rows for each step: all of them if they are few, otherwise in random order."""
        n, b = examples.length, int(self._options.batch)
        if n <= self._options.few_rows:
            for _ in range(_STEPS if n else 0):
                yield slice(None)
            return
        steps = n // b
        for _ in range(max(1, round(_STEPS / steps))):
            order = examples.in_order(self._random.permutation(n))
            for i in range(steps):
                yield order[n * i // steps : n * (i + 1) // steps]

    def _draws(self, n: int, all_rows: bool) -> list[Tensor | None]:
        """Noise of the latent variables of n rows: random numbers, and not the points by which states are judged,
        between which the decoder would then be free.

        If each step is taken with all rows, steps are to be as precise as they can be: there are the random numbers and
        their negatives, and the mean of their products over the rows is I.
        """
        if self._coder.log_noise is None:
            return [None]
        k, like = self._coder.k, self._like
        noise = torch.randn((n, k), generator=self._noise, dtype=like.dtype, device=like.device)
        if not all_rows:
            return [noise]
        if n >= 2 * k:
            root = torch.linalg.cholesky(noise.T @ noise / n)
            noise = torch.linalg.solve_triangular(root, noise.T, upper=False).T
        return [noise, -noise]

    def _evaluate(self) -> float:
        """The mean loss, for each entry, of the rows that decide."""
        self._coder.eval()
        total, weight = 0.0, 0.0
        points: Iterable[Any] = (None,) if self._coder.log_noise is None else self._points
        with torch.no_grad():
            for examples in self._supply.judges:
                weight += examples.total
                for i in range(0, examples.length, _EVALUATED):
                    V, known, counts = examples.take(slice(i, i + _EVALUATED))
                    losses = sum(self._coder.losses(V, known, point) for point in points).to(self._wide)
                    total += float(losses.sum() if counts is None else losses @ counts.to(self._wide))
        return total / weight / self._p / (1 if self._coder.log_noise is None else len(self._points))

    def _in_units(self, value: float) -> float:
        """A loss for each entry of v as the loss of a row of x."""
        if self._coder.log_noise is not None:
            return self._p * (value + math.log(self._unit))
        return self._p * value * self._unit**2

    def _keep_state(self) -> None:
        self._state = copy.deepcopy(self._coder.state_dict())

    def _restart(self) -> None:
        """Steps without memory of those before, at the present rate."""
        gains, others = self._coder.parameter_groups()
        groups = [{"params": others, "lr": self._rate}, {"params": gains, "lr": _GAIN_RATE * self._rate}]
        # On a GPU, one operation changes all parameters: beginning with one for each would take longer than the rest.
        fused = self._like.device.type == "cuda"
        self._optimizer = torch.optim.Adam([group for group in groups if group["params"]], fused=fused)

    def _slow_down(self, factor: float) -> None:
        """Go back to the best state, with the rate times this factor."""
        self._coder.load_state_dict(self._state)
        self._rate *= factor
        self._waited, self._reference = 0, self._best
        self._restart()


@contextmanager
def _seeded(request: NeuralRequest, like: Tensor) -> Iterator[None]:
    """Context in which modules of the user, such as dropout, draw from a generator of this seed; the generator of the
    process is then as it was. Without such modules nothing is drawn from it."""
    if request.design.encoder is None and request.design.decoder is None:
        yield
        return
    devices = [like.device] if like.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(request.seed)
        yield
