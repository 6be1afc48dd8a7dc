"""Tables with categories: columns that may be codes, and text that is nearly numbers."""

import numpy as np
import pandas as pd
import pytest

from lowdim import FAMD
from lowdim.sources.categories import looks_like_codes


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("x", [1, 2, 3], "its values are 1, 2, 3"),
        ("x", [0, 1, 2, 3], "its values are 0, 1, ..., 3"),
        ("x", [3.0, np.nan, 1, 2, 1], "its values are 1, 2, 3"),
        ("x", range(1, 11), "its values are 1, 2, ..., 10"),
        ("zip", [8001, 9000], "its name has the word 'zip'"),
        ("birth_year", [1980, 1999], "its name has the word 'year'"),
        ("customerId", [17, 23], "its name has the word 'id'"),
        ("ICD Code 2", [17, 23], "its name has the word 'code'"),
        ("CLASS", [17, 23], "its name has the word 'class'"),
        ("x", range(11), ""),
        ("x", [0, 1], ""),  # as a category, it would be the same
        ("x", [2, 3, 4], ""),
        ("x", [1, 2, 4], ""),
        ("x", [1, 2, 2.5, 3], ""),
        ("zip", [0.5, 1], ""),
        ("zip", [1, np.inf], ""),
        ("zip", [np.nan], ""),
        ("zip", [], ""),
        ("yearly", [1980, 1999], ""),
        ("idle", [17, 23], ""),
        ("3", [17, 23], ""),
    ],
)
def test_numbers_that_may_be_codes(name, values, why):
    assert looks_like_codes(name, np.asarray(values, dtype=float)) == why


def test_text_that_is_nearly_numbers(tmp_path):
    """In a file it is an error unless it was declared; text in a data frame is what the user made it."""
    table = pd.DataFrame({"city": list("xyz") * 8, "grade": ["1", "2", "3", "4"] * 5 + ["5", "5", "6", "absent"]})
    table.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(
        ValueError, match=r"nearly all entries are numbers: column 'grade' has the text 'absent' in line"
    ):
        FAMD(1).fit(tmp_path / "rows.csv")
    expected = FAMD(1).fit(table).explained_variance_
    for named in ("grade", ["city", "grade"]):
        found = FAMD(1, categorical_features=named).fit(tmp_path / "rows.csv")
        np.testing.assert_allclose(found.explained_variance_, expected)
