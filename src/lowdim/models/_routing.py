"""What models request of scikit-learn's metadata routing by default."""

from __future__ import annotations

#: Weights are not requested: a pipeline that has weights for its last step need not ask for them in a transformer.
WITHOUT_WEIGHTS: dict[str, bool | None] = {"sample_weight": False}
#: A regression that is given weights must be told whether to use them.
ASK_ABOUT_WEIGHTS: dict[str, bool | None] = {"sample_weight": None}
