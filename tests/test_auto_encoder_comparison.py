"""The table of docs/auto_encoders.md: it has all rows, the numbers of PCA are right, and training gives them again."""

import pytest

from auto_encoder_comparison import COMPONENTS, DATA, METHODS, TABLE, measure

CELLS = TABLE.cells()


def percent(cell):
    return float(cell.split("%")[0]) / 100


def row_of(data, k):
    found = [cells for cells in CELLS if cells[0].startswith(f"{data},") and cells[1] == str(k)]
    assert len(found) == 1
    return dict(zip(METHODS, map(percent, found[0][2:]), strict=True))


@pytest.mark.parametrize("k", COMPONENTS)
@pytest.mark.parametrize("data", DATA)
def test_the_numbers_of_pca_are_on_the_page(data, k):
    shown = row_of(data, k)
    assert shown["PCA"] == pytest.approx(measure(data, k, "PCA")[0], abs=6e-4)
    assert shown["AutoEncoder"] <= shown["PCA"] + 0.002


def test_sentences_below_the_table_are_true():
    share = {(data, k): row_of(data, k)["AutoEncoder"] / row_of(data, k)["PCA"] for data in DATA for k in COMPONENTS}
    digits = [share[data, k] for data in ("digits", "OPTDIGITS") for k in COMPONENTS]
    assert 0.39 < min(digits) < 0.405 and 0.705 < max(digits) < 0.715
    assert all(share["OPTDIGITS", k] < share["digits", k] for k in COMPONENTS)
    assert [round(1 - share["MNIST", k], 2) for k in COMPONENTS] == [0.09, 0.24, 0.15]
    assert all(round(share["faces", k], 2) == 1.0 for k in COMPONENTS)
    assert [round(1 - share["cells", k], 2) for k in COMPONENTS] == [0.04, 0.0, 0.0]
    assert all(row_of(data, k)["kernel PCA"] > row_of(data, k)["PCA"] - 0.004 for data in DATA for k in COMPONENTS)


@pytest.mark.parametrize(("data", "k"), [("digits", 10), ("faces", 10)])
def test_training_gives_the_numbers_of_the_page(data, k):
    pytest.importorskip("torch", reason="torch is not installed, and networks are trained by it")
    found, _ = measure(data, k, "AutoEncoder")
    assert row_of(data, k)["AutoEncoder"] == pytest.approx(found, rel=0.1)
