"""Options take their types and their help from docstrings."""

import inspect

import pytest

from lowdim import choose_n_components, cross_validate, models
from lowdim.cli.numpydoc import described_parameters, first_sentence
from lowdim.cli.options import options_of, values_of

DOCUMENTED = [*(getattr(models, name) for name in models.__all__), choose_n_components, cross_validate]


@pytest.mark.parametrize("obj", DOCUMENTED, ids=lambda obj: obj.__name__)
def test_every_parameter_is_described(obj):
    described = described_parameters(obj)
    assert set(inspect.signature(obj).parameters) <= set(described)
    assert all(each.kind or each.text for each in described.values())
    assert first_sentence(obj)


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
    assert described["b"].kind == "int or None" and described["b"].text == "First line and second."
    assert described["c"].kind == "bool" and described["c"].text == ""
    assert described_parameters(lambda: None) == {}


def test_arrays_are_no_options():
    options = options_of(models.ICA)
    assert "w_init" not in options and {"n_components", "tol", "max_iter", "extended"} <= set(options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.9", 0.9),
        ("1e-8", 1e-8),
        ("none", None),
        ("true", True),
        ("parallel", "parallel"),
        ("0.1,0.5", [0.1, 0.5]),
        ("a,b", "a,b"),
        ("nan", "nan"),
        (True, True),
        (5, 5),
    ],
)
def test_values(text, value):
    found = values_of(["a"], {"a": text})["a"]
    assert found == value and type(found) is type(value)


def test_options_that_were_not_given_are_left_out():
    assert values_of(["a", "b"], {"a": None, "b": "1"}) == {"b": 1}
