"""The table of converters: which function expresses a method of a model. A class is found by its base classes too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..errors import no_such_table, not_in_onnx
from ..models import CCA, GCCA, AutoEncoder, FeatureMapPCA, KernelCCA, KernelPCA, Whitening
from ..models._base import Model
from ..models._latent import LatentModel
from ..models._pair import PairModel
from ..models._regression import LatentRegression
from . import linear_models as linear
from . import networks
from . import nonlinear_models as nonlinear
from .expression import Expression

#: A function of a fitted model and the number of one of its tables.
Converter = Callable[[Any, int], Expression]

#: For each method, the converters of classes. A model without an entry of its own has that of its base class.
CONVERTERS: Mapping[str, Mapping[type, Converter]] = {
    "transform": {
        Model: linear.affine_scores,
        Whitening: linear.whitened,
        LatentModel: linear.latent_scores,
        PairModel: linear.pair_scores,
        GCCA: linear.several_scores,
        KernelPCA: nonlinear.kernel_scores,
        KernelCCA: nonlinear.kernel_variates,
        FeatureMapPCA: nonlinear.feature_scores,
        AutoEncoder: networks.encoded,
    },
    "inverse_transform": {
        Model: linear.affine_rows,
        Whitening: linear.coloured,
        PairModel: linear.pair_rows,
        GCCA: linear.several_rows,
        KernelPCA: nonlinear.kernel_rows,
        AutoEncoder: networks.decoded,
    },
    "predict": {LatentRegression: linear.predictions, CCA: linear.predictions},
}
#: Why other methods are not expressed, and what to do instead.
REASONS: Mapping[str, tuple[str, str]] = {
    "impute": (
        "the weights of the observed entries are different for each pattern of holes",
        "Impute with lowdim before the graph runs; the graph of `transform` is for complete rows.",
    ),
}


def express(model: Any, method: str, table: int = 0) -> Expression:
    """The expression of a method of a fitted model, for one of its tables."""
    if not isinstance(model, Model):
        raise TypeError(
            f"lowdim.to_onnx takes models of lowdim, got {type(model).__name__}. Pipelines and other estimators of "
            "scikit-learn are converted by skl2onnx, together with the models of lowdim in them."
        )
    check_is_fitted(model)
    what = f"{method} of {type(model).__name__}"
    if method not in CONVERTERS:
        why, instead = REASONS.get(method, ("there is no converter for it", f"Choose one of {', '.join(CONVERTERS)}."))
        raise not_in_onnx(what, why, instead)
    converter = next((found for cls in type(model).__mro__ if (found := CONVERTERS[method].get(cls))), None)
    if converter is None or not hasattr(model, method):
        able = [name for name in CONVERTERS if name != method and hasattr(model, name)]
        raise not_in_onnx(what, "the model has no such method", f"Choose {' or '.join(map(repr, able))}.")
    known = count_tables(model, method)
    if isinstance(table, bool) or not isinstance(table, int) or not 0 <= table < known:
        raise no_such_table(what, table, known)
    return converter(model, table)


def count_tables(model: Any, method: str) -> int:
    """The number of tables that a method takes rows or scores of."""
    return 1 if method == "predict" else len(model._widths())
