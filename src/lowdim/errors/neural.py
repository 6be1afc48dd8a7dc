"""Messages about auto-encoders."""

from __future__ import annotations

from typing import Any


def wrong_module_width(name: str, inputs: int, wanted: int, found: str, variational: bool) -> ValueError:
    """The error for a module of the user that does not map rows of the right width to results of the right width."""
    both = ", the means and the logarithms of the variances of the latent variables" if variational else ""
    results = f"of {wanted} columns{both if name == 'encoder' else ''}"
    return ValueError(
        f"{name} must map tensors of shape (n, {inputs}) to tensors of shape (n, {wanted}), but {found}. Change its "
        f"first layer to {inputs} inputs and its last one to results {results}."
    )


def not_a_module(name: str, got: Any) -> TypeError:
    """The error for something else than a torch module where one is expected."""
    instead = f"; make one: {got.__name__}(...)" if isinstance(got, type) else ""
    return TypeError(f"{name} must be a torch.nn.Module or None, got {got!r:.80}{instead}.")


def not_variational() -> ValueError:
    """The error for an evidence bound of a model that was fitted without one."""
    return ValueError("the model was fitted with variational=False and has no evidence bound: fit it again.")


def training_diverged(rate: float, first_rate: float) -> ValueError:
    """The error for a loss that stays NaN however small the steps are."""
    return ValueError(
        f"the loss was not finite, also after training went back to its best state several times, last with steps of "
        f"size {rate:.1g}. Divide the columns by numbers that bring them to a similar size (for example with "
        f"sklearn.preprocessing.StandardScaler), or pass solver=Adam(rate=...) with a rate below {first_rate:g}; if "
        "the modules are your own, look for logarithms, roots and divisions in them."
    )


def bad_number_latent(k: Any, p: int) -> ValueError:
    """The error for a number of latent variables that is no number, or less than one."""
    return ValueError(
        f"n_components={k!r} must be a whole number of at least 1; an auto-encoder is of use with fewer components "
        f"than columns (n_features={p}), so pass 1 to {max(1, p - 1)}."
    )


def many_latent(k: int, p: int) -> str:
    """The warning about as many latent variables as columns."""
    return (
        f"n_components={k} is not less than the number of columns, {p}: the rows can be copied as they are, and "
        "nothing is learnt from them. Ask for fewer components."
    )


def own_module_not_stored() -> str:
    """The advice for a model with a module of the user, which files do not hold."""
    return (
        "Use hidden=(...) in place of your own module, or keep its class in your "
        "program and store its parameters yourself: torch.save(model.encoder_.state_dict(), path)."
    )


def squared_error_out_of_range(unit: float) -> ValueError:
    """The error for rows whose squared errors are no numbers."""
    return ValueError(
        f"the rows have a standard deviation of about {unit:.1g}, whose square is outside the range of floating-point "
        "numbers. Rescale the columns (divide them by a constant)."
    )
