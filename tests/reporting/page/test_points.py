"""Documents with many points, and with few."""

import numpy as np
import pytest

from lowdim import Table
from lowdim.reporting.blocks import Chart, Document, Listing, Menu, Prose, Section, Widget
from lowdim.reporting.page import FEW, has_many_points


def document(*blocks):
    return Document("", "", [Section("a", "", "", [Prose(""), Listing(Table({}))]), Section("b", "", "", blocks)])


def chart(*lengths, kind="scattergl"):
    return Chart("c", "", "", [{"type": kind, "x": np.zeros(n), "y": np.zeros(n)} for n in lengths])


@pytest.mark.parametrize(
    ("block", "many"),
    [
        (chart(FEW), False),
        (chart(FEW, 1), True),
        (chart(FEW + 1, kind="scatter"), False),
        (Menu("m", "", {"a": chart(1), "b": chart(FEW + 1)}), True),
        (Widget("w", "map", "", "", {"numbers": np.zeros(FEW)}), False),
        (Widget("w", "map", "", "", {"numbers": np.zeros(FEW + 1)}), True),
        (Widget("w", "rebuilding", "", "", {"rows": np.zeros(FEW + 1)}), False),
    ],
)
def test_points_are_counted(block, many):
    assert has_many_points(document(block)) is many


def test_a_document_without_charts():
    assert not has_many_points(document())
