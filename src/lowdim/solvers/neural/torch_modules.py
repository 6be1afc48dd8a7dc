"""Encoder and decoder as torch modules: for training, and for users."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

from ..._xp import Array, asarray_like, astype, to_numpy
from ...errors import wrong_module_width
from .activations import ACTIVATIONS
from .network import MOST_LOG_VARIANCE, Network
from .optional_torch import Module, Tensor, torch
from .paths import Path
from .start import Design


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
        self.gain = (
            None if module is None else _parameter(torch.zeros(path.offset.shape[0]) if gain is None else gain, like)
        )

    def forward(self, V: Tensor) -> Tensor:
        found = torch.addmm(self.offset, V, self.matrix)
        if self.module is not None:
            return found + self.gain * self.module(V)
        if not len(self.weights):
            return found
        act, H = getattr(torch.nn.functional, ACTIVATIONS[self.activation].in_torch), V
        for W, b in zip(self.weights[:-1], self.biases, strict=True):
            H = act(torch.addmm(b, H, W))
        return torch.addmm(found, H, self.weights[-1])

    def path(self, like: Array, dtype: Any) -> Any:
        """The path with these parameters, as arrays of the library of the rows."""

        def array(x: Tensor) -> Array:
            return asarray_like(
                x.detach().clone() if isinstance(like, torch.Tensor) else to_numpy(x).copy(), like, dtype
            )

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


class EncoderModule(Module):
    """Scores of rows, as a torch module: what `transform` computes, with gradients."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        like = as_tensor(network.mean)
        self.register_buffer("mean", like.clone())
        self.register_buffer("widths", as_tensor(network.widths).clone())
        self.unit, self.k = network.unit, network.k
        self.path = PathModule(network.encoder, getattr(network.encoder, "module", None), like)

    def forward(self, X: Tensor) -> Tensor:
        return self.path((X - self.mean) / self.unit)[:, : self.k] * self.widths


class DecoderModule(Module):
    """Rows from scores, as a torch module: what `inverse_transform` computes, with gradients."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        like = as_tensor(network.mean)
        self.register_buffer("mean", like.clone())
        self.register_buffer("widths", as_tensor(network.widths).clone())
        self.unit = network.unit
        self.path = PathModule(network.decoder, getattr(network.decoder, "module", None), like)

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
