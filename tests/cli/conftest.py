"""Files to try the command on."""

import numpy as np
import pytest
from sklearn.datasets import load_wine


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with the files that the examples in the help name."""
    folder = tmp_path_factory.mktemp("command")
    wine = load_wine(as_frame=True).frame
    wine["class"] = wine.pop("target").map({0: "barolo", 1: "grignolino", 2: "barbera"})
    wine.to_csv(folder / "wine.csv", index=False)
    numbers = wine.drop(columns="class")
    for name, columns in (("left", slice(0, 4)), ("right", slice(4, 8)), ("third", slice(8, 13))):
        numbers.iloc[:, columns].to_csv(folder / f"{name}.csv", index=False)
    missing = np.random.default_rng(0).random(numbers.shape) < 0.1
    numbers.astype(float).mask(missing).assign(**{"class": wine["class"]}).to_csv(
        folder / "incomplete.csv", index=False
    )
    return folder
