"""Densities of sources: they integrate to one, their derivatives are what they say, and custom ones are checked."""

import math
from dataclasses import fields

import numpy as np
import pytest
from scipy import integrate, stats

import lowdim
from inputs import namespace
from lowdim import ICA
from lowdim.densities import (
    DENSITIES,
    CustomDensity,
    Flipped,
    GeneralizedGaussian,
    Infomax,
    Sech,
    Student,
    as_density,
)
from lowdim.summaries import ScoreMoments
from oracles import tolerance

ALL = {
    "sech": Sech(),
    "infomax": Infomax(),
    "flipped infomax": Infomax().flipped,
    "student 4": Student(),
    "student 1": Student(1.0),
    "generalized 1": GeneralizedGaussian(),
    "generalized 1.5": GeneralizedGaussian(1.5, smoothing=0.3),
    "generalized 3": GeneralizedGaussian(3.0),
    "generalized 4": GeneralizedGaussian(4.0),
    "custom logistic": CustomDensity(
        lambda u: u + 2 * np.logaddexp(0, -u), lambda u: np.tanh(u / 2), lambda u: 0.5 - 0.5 * np.tanh(u / 2) ** 2
    ),
    "flipped sech": Sech().flipped,
    "flipped student": Student().flipped,
    "flipped generalized": GeneralizedGaussian(1.2).flipped,
}
each = pytest.mark.parametrize("density", list(ALL.values()), ids=list(ALL))
U = np.array([-6.0, -2.5, -1.0, -0.3, 0.1, 0.8, 1.7, 4.0])


def test_every_density_of_the_table_is_tested():
    assert set(DENSITIES.values()) <= {type(density) for density in ALL.values()}


@each
def test_probabilities_add_up_to_one(density):
    total = integrate.quad(lambda u: math.exp(-float(density.energy(np.array([u]))[0])), -np.inf, np.inf, limit=200)[0]
    assert total == pytest.approx(1.0, abs=1e-7)


@each
def test_scores_are_derivatives(density):
    h = 1e-5
    np.testing.assert_allclose(density.score(U), (density.energy(U + h) - density.energy(U - h)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(density.slope(U), (density.score(U + h) - density.score(U - h)) / (2 * h), atol=1e-6)


@each
def test_one_sum_of_all_terms(density):
    Y = np.random.default_rng(0).standard_normal((50, 3)) * 3
    room = [np.empty_like(Y) for _ in range(3)]
    for weights in (None, np.arange(50.0)):
        psi, slope, energy = density.terms(Y.copy(), weights, room)
        np.testing.assert_allclose(psi, density.score(Y), atol=1e-14)
        np.testing.assert_allclose(slope, density.slope(Y), atol=1e-14)
        expected = (np.ones(50) if weights is None else weights) @ density.energy(Y)
        np.testing.assert_allclose(energy, expected, rtol=tolerance())


def test_named_densities_are_those_of_scipy():
    np.testing.assert_allclose(Sech().energy(U), np.log(np.pi * np.cosh(U)), rtol=1e-14)
    np.testing.assert_allclose(Student(3.0).energy(U), -stats.t(3).logpdf(U), rtol=1e-14)
    np.testing.assert_allclose(GeneralizedGaussian(4.0).energy(U), -stats.gennorm(4).logpdf(U), rtol=1e-12)


def test_laplace_is_the_limit_of_little_smoothing():
    np.testing.assert_allclose(GeneralizedGaussian(1.0, 1e-4).energy(U), -stats.laplace.logpdf(U), atol=1e-3)


def test_flipped_sech_is_two_gaussians():
    two = 0.5 * stats.norm(-1, 1).pdf(U) + 0.5 * stats.norm(1, 1).pdf(U)
    np.testing.assert_allclose(Sech().flipped.energy(U), -np.log(two), rtol=1e-10)
    np.testing.assert_allclose(Infomax().flipped.energy(U), -np.log(two), rtol=1e-8)


def test_far_out_sources_cost_what_they_should():
    far = np.array([[1e3, -1e3, 800.0, -1e150]])
    np.testing.assert_allclose(Sech().energy(far), np.abs(far) + math.log(math.pi / 2), rtol=1e-15)
    room = [np.empty_like(far) for _ in range(3)]
    np.testing.assert_allclose(Sech().terms(far, None, room)[2], np.abs(far[0]) + math.log(math.pi / 2), rtol=1e-15)


def test_any_array_library():
    xp = namespace("array_api_strict")
    for density in ALL.values():
        Y = xp.asarray(np.stack([U, U + 1]))
        for of in (density.energy, density.score, density.slope):
            np.testing.assert_allclose(np.asarray(of(Y)), of(np.stack([U, U + 1])), rtol=1e-12)


@pytest.mark.parametrize("name", list(DENSITIES))
def test_names(name, tmp_path):
    assert as_density(name) == DENSITIES[name]()
    assert stored(as_density(name), tmp_path) == as_density(name)


def stored(density, folder):
    """The density as it comes back from a file, in which a summary names it."""
    lowdim.save(ScoreMoments(np.eye(1), np.zeros(1), density), folder / "scores.summary")
    return lowdim.load(folder / "scores.summary").density


def test_parameters_are_kept(tmp_path):
    assert stored(Student(2.5), tmp_path) == Student(2.5)
    with pytest.raises(ValueError, match="can be stored"):
        stored(ALL["custom logistic"], tmp_path)


def test_three_functions_are_a_custom_density():
    functions = tuple(getattr(ALL["custom logistic"], f.name) for f in fields(CustomDensity))
    assert as_density(functions) == ALL["custom logistic"]
    assert str(as_density(functions)) == "CustomDensity(<lambda>)"


def normal(u):
    return u * u / 2


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ((normal, lambda u: -u, lambda u: np.ones_like(u)), "derivative of -ln p is given as 3.1 at u = -3.1, but"),
        ((normal, lambda u: u, lambda u: 2 * np.ones_like(u)), "second derivative of -ln p is given as 2 "),
        ((normal, lambda u: u, lambda u: 1.0), r"its second derivative gave shape \(\)"),
        ((lambda u: np.log(u), lambda u: 1 / u, lambda u: -1 / u**2), "-ln p is not finite at -3.1"),
        ((lambda u: u, lambda u: np.ones_like(u), lambda u: np.zeros_like(u)), "symmetric about zero"),
        ((lambda u: -u * u, lambda u: -2 * u, lambda u: -2 * np.ones_like(u)), "not a density"),
        ((lambda u: 0 * u, lambda u: 0 * u, lambda u: 0 * u), "not a density"),
        (
            (
                lambda u: -np.exp(-u * u / 2),
                lambda u: u * np.exp(-u * u / 2),
                lambda u: (1 - u * u) * np.exp(-u * u / 2),
            ),
            "not a density",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
def test_custom_functions_are_checked(functions, message):
    with pytest.raises(ValueError, match=message):
        ICA(density=functions).fit(np.random.default_rng(0).laplace(size=(50, 2)))


@pytest.mark.parametrize(
    ("density", "error", "message"),
    [
        ("cube", ValueError, "'cube' is not one of 'sech', 'infomax'"),
        (Sech, TypeError, r"pass an instance: Sech\(\)"),
        ((1, 2, 3), TypeError, "-ln p must be a function of an array, got int"),
        (np.tanh, TypeError, "or three functions"),
        ("logcosh", ValueError, "That is 'sech' here"),
        ((math.cosh, np.tanh, np.tanh), TypeError, "failed on an array.*np.log, not math.log"),
    ],
)
def test_what_is_no_density(density, error, message):
    with pytest.raises(error, match=message):
        ICA(density=density).fit(np.eye(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Student(0.0), "freedom=0.0 must be a positive number"),
        (lambda: Student("four"), "freedom='four' must be a positive number"),
        (lambda: GeneralizedGaussian(-1.0), "shape=-1.0 must be"),
        (lambda: GeneralizedGaussian(2.0), "is the Gaussian"),
        (lambda: GeneralizedGaussian(smoothing=0.0), "smoothing=0.0 must be"),
        (lambda: Flipped(GeneralizedGaussian(4.0)).energy(U), "cannot be flipped"),
    ],
)
def test_parameters_that_make_no_sense(make, message):
    with pytest.raises(ValueError, match=message):
        make()
