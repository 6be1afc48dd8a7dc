"""Plots are drawn without a screen, in matplotlib's default style, and closed after each test."""

import matplotlib
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib.use("Agg")
    with matplotlib.style.context("default"):
        yield
    plt.close("all")
