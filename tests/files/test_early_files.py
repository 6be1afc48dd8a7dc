"""Files of version 1.0 of the format open, and hold the models that they were written from.

The files were written by `python tests/files/test_early_files.py`, once. They are never written again: what lowdim
saves may change, but not what it can read.
"""

from pathlib import Path

import numpy as np
import pytest

from examples import MODELS, close, fitted, tables
from files.selection_results import selected
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.files import header, load, save

SAVED = Path(__file__).parent / "saved"
#: Models that came later.
LATER: tuple[str, ...] = ()


@pytest.mark.parametrize("name", [name for name in MODELS if name not in LATER])
def test_models(name):
    path, seen = SAVED / f"{name}.safetensors", MODELS[name].seen
    assert header(path)["version"] == "1.0"
    found = load(path)
    with without_warnings(LowdimWarning):
        now = fitted(name)
    assert type(found) is type(now)
    for attribute, value in seen(now).items():
        close(seen(found)[attribute], value, 1e-6)
    assert np.isfinite(found.transform(tables(name)[0])).all()


@pytest.mark.parametrize("path", sorted(SAVED.glob("result*")), ids=lambda path: path.stem)
def test_results_of_selection(path):
    found = load(path)
    assert type(found).__name__ == header(path)["class"].rpartition(".")[2]
    assert str(found)


def test_there_is_a_file_of_each_kind_of_result():
    kinds = {header(path)["class"] for path in SAVED.glob("result*")}
    assert len(kinds) == len({type(value) for value in selected().values()})


if __name__ == "__main__":
    SAVED.mkdir()
    with without_warnings(LowdimWarning):
        for name in MODELS:
            save(fitted(name), SAVED / f"{name}.safetensors")
        for i, value in enumerate(selected().values()):
            save(value, SAVED / f"result {i} {type(value).__name__}.safetensors".replace(" ", "_"))
