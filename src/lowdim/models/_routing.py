"""What models request of scikit-learn's metadata routing by default."""

from __future__ import annotations

from typing import ClassVar


class WithoutWeights:
    """Weights are not requested: a pipeline that has weights for its last step need not ask for them here."""

    __metadata_request__fit: ClassVar[dict[str, bool | None]] = {"sample_weight": False}
    __metadata_request__fit_transform: ClassVar[dict[str, bool | None]] = {"sample_weight": False}
    __metadata_request__partial_fit: ClassVar[dict[str, bool | None]] = {"sample_weight": False}


class AsksAboutWeights:
    """A regression that is given weights must be told whether to use them."""

    __metadata_request__fit: ClassVar[dict[str, bool | None]] = {"sample_weight": None}
    __metadata_request__fit_transform: ClassVar[dict[str, bool | None]] = {"sample_weight": None}
    __metadata_request__partial_fit: ClassVar[dict[str, bool | None]] = {"sample_weight": None}
