"""The loop that trains an auto-encoder, with its schedule."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..._progress import watcher
from ..._threads import check_stop
from ..._xp import wide_dtype
from ...errors import training_diverged
from ..base import RowsLike
from ..results import Status
from .examples import Examples
from .network import Network, expectation_points
from .neural_solver import NeuralFit, NeuralRequest
from .optional_torch import Tensor, torch
from .supply import Supply
from .torch_modules import CoderModule, as_tensor, check_modules

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
#: Rows that are evaluated together.
_TOGETHER = 4096


def train(rows: RowsLike, request: NeuralRequest, options: Any, size: int, later: Iterable[Any] = ()) -> NeuralFit:
    """Train the network of the request on rows, in windows of `size`, and then on `later` windows of a stream."""
    start = request.start
    assert start is not None, "a request without a start can be planned but not solved"
    like = as_tensor(rows.empty(0))
    check_modules(request.design, rows.shape[1], like)
    supply = Supply(rows, start, options.held_out, size, request.seed, like)
    coder = CoderModule(start, request.design, like)
    training = _Training(coder, supply, start, options, request.seed, like, rows.progress)
    with _seeded(request, like):
        status = training.run(later)
    network = coder_network(coder, start, rows.empty(0), rows.dtype) if training.moved else start
    return NeuralFit(
        network, training.loss, training.training_loss, status, supply.passes, supply.n_held_out, training.n_later
    )


def coder_network(coder: CoderModule, start: Network, like: Any, dtype: Any) -> Network:
    """The network with the parameters of a coder, in the library of the rows."""
    log_noise = None if coder.log_noise is None else float(coder.log_noise.detach())
    encoder, decoder = coder.encoder.path(like, dtype), coder.decoder.path(like, dtype)
    return replace(start, encoder=encoder, decoder=decoder, log_noise=log_noise)


class _Training:
    """A coder that is trained, its best state so far, and the rate of its steps."""

    def __init__(
        self, coder: CoderModule, supply: Supply, start: Network, options: Any, seed: int, like: Tensor, progress: Any
    ) -> None:
        self._coder, self._supply, self._options, self._like = coder, supply, options, like
        self._progress, self._wide = progress, wide_dtype(torch, like.device)
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
            status = self._first_epochs() if window is None else self._epochs(self._options.epochs_per_window)
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

    def _first_epochs(self) -> Status:
        """The epochs of rows that can be read again."""
        most = int(self._options.max_epochs)
        if self._supply.n_held_out or not self._options.held_out or most <= _BLIND:
            return self._epochs(most)
        self._epochs(_BLIND)
        return Status.FIXED_STEPS

    def _epochs(self, count: int, ends: bool = True) -> Status:
        """So many epochs, or fewer if there is no progress."""
        for _ in range(count):
            training_loss = self._epoch()
            value = self._evaluate()
            if not math.isfinite(training_loss) or not math.isfinite(value):
                self._recover()
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
            if self._waited >= self._patience():
                if self._reductions < _TIMES:
                    self._slow_down(_SLOWER)
                    self._reductions += 1
                elif ends:
                    return Status.HELD_OUT
                else:
                    # There may be more to learn from later windows, so the rate becomes no smaller.
                    self._slow_down(1.0)
        return Status.NOT_CONVERGED

    def _patience(self) -> int:
        """Epochs without progress before steps become smaller. At the start, which is the best linear solution, the
        loss rises before it falls."""
        at_start = not self._progressed and self._reductions == 0
        return int(self._options.patience) * (_AT_START if at_start else 1)

    def _epoch(self) -> float:
        """One epoch; returns the mean loss of its rows, for each entry, while the parameters changed."""
        self._coder.train()
        total = torch.zeros((), dtype=self._wide, device=self._like.device)
        weight = 0.0
        for examples in self._supply.epoch():
            for index in self._told(list(self._batches(examples))):
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

    def _told(self, batches: list[Any]) -> Iterator[Any]:
        """The batches, of which each is told to whoever watches."""
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
                for i in range(0, examples.length, _TOGETHER):
                    V, known, counts = examples.take(slice(i, i + _TOGETHER))
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

    def _recover(self) -> None:
        """Go back after a loss that is no number, or give up."""
        self._failures += 1
        if self._failures > _FAILURES:
            raise training_diverged(self._rate, self._options.rate)
        self._slow_down(_MUCH_SLOWER)


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
