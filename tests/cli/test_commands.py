"""Options take their types and their help from docstrings."""

import inspect

import pytest

from lowdim import choose_n_components, cross_validate, models
from lowdim.cli.commands import Parameters, described_parameters, value_of, with_example

DOCUMENTED = [*(getattr(models, name) for name in models.__all__), choose_n_components, cross_validate]


@pytest.mark.parametrize("obj", DOCUMENTED, ids=lambda obj: obj.__name__)
def test_every_parameter_is_described(obj):
    described = described_parameters(obj)
    assert set(inspect.signature(obj).parameters) <= set(described)
    assert all(any(each) for each in described.values())
    assert not with_example(obj, "").startswith("\n")


def test_a_docstring():
    def function(a, b, c=1):
        """Do it.

        Parameters
        ----------
        a, b : int or None
            First line
            and second.
        c : bool

        Returns
        -------
        d : float
        """

    described = described_parameters(function)
    assert set(described) == {"a", "b", "c"}
    assert described["b"] == ("int or None", "First line and second.")
    assert described["c"] == ("bool", "")
    assert described_parameters(lambda: None) == {}


def test_arrays_are_no_options():
    names = {option.name for option in Parameters(models.ICA).options}
    assert "w_init" not in names and {"n_components", "tol", "max_iter", "extended"} <= names


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("3", "int", 3),
        ("0.9", "int, float, str or None", 0.9),
        ("1e-8", "float", 1e-8),
        ("none", "int or None", None),
        ("true", "str or bool", True),
        ("parallel", "int or str", "parallel"),
        ("0.1,0.5", "float or pair of floats", [0.1, 0.5]),
        ("a,b", "str", "a,b"),
        ("nan", "str", "nan"),
        ("2", "sequence of int or str", [2]),
        ("PC1,PC3", "sequence of int or str", ["PC1", "PC3"]),
        ("8, 8", "(height, width)", [8, 8]),
        ("5", "sequence, or str", "5"),
        (True, "bool", True),
    ],
)
def test_values(text, kind, value):
    found = value_of(text, kind)
    assert found == value and type(found) is type(value)


def test_options_that_were_not_given_are_left_out():
    parameters = Parameters(models.PLSSVD)
    given = dict.fromkeys((option.name for option in parameters.options), None)
    assert parameters.values(given) == {}
    assert parameters.values({**given, "n_components": "none"}) == {"n_components": None}
