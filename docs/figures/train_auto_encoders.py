"""Train the auto-encoders that figures and the gallery show, and store them in gallery/data.

    python docs/figures/train_auto_encoders.py

This needs torch and takes some seconds. What loads the files needs no torch.
"""

import runpy
import sys
from pathlib import Path

from lowdim import AutoEncoder, save

FOLDER = Path(__file__).resolve().parent
METHODS = runpy.run_path(str(FOLDER / "methods.py"))


def digits(n_components: int) -> AutoEncoder:
    """The network for the training images of OPTDIGITS."""
    return AutoEncoder(n_components, hidden=(64, 32)).fit(METHODS["optdigits"]()[0])


#: Functions that train, by the names of the files.
MODELS = {
    "arc": lambda: AutoEncoder(1, hidden=(64,)).fit(METHODS["arc"]()),
    "optdigits_2": lambda: digits(2),
    "optdigits_10": lambda: digits(10),
}


def main(names: list[str]) -> None:
    for name in names or MODELS:
        save(MODELS[name](), METHODS["STORED"] / f"{name}.safetensors")


if __name__ == "__main__":
    main(sys.argv[1:])
