"""Files to try the command on."""

import json

import numpy as np
import pandas as pd
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
    random = np.random.default_rng(1)
    n = 120
    hair = random.choice(["black", "brown", "fair"], n)
    eyes = np.where(
        random.random(n) < 0.6, np.where(hair == "fair", "blue", "brown"), random.choice(["blue", "grey"], n)
    )
    people = pd.DataFrame({"hair": hair, "eyes": eyes, "smokes": random.choice(["yes", "no"], n)})
    people["age"], people["children"] = random.integers(18, 80, n), random.integers(0, 4, n)
    people.to_csv(folder / "people.csv", index=False)
    groups = {"looks": ["hair", "eyes"], "life": ["age", "children", "smokes"]}
    (folder / "groups.json").write_text(json.dumps(groups))
    lines = [f"{column},{group}" for group, columns in groups.items() for column in columns]
    (folder / "groups.csv").write_text("\n".join(["column,group", *lines]))
    counts = {
        "task": ["cooking", "cleaning", "repairs"],
        "wife": [30, 20, 2],
        "both": [10, 15, 5],
        "husband": [3, 4, 40],
    }
    pd.DataFrame(counts).to_csv(folder / "counts.csv", index=False)
    return folder
