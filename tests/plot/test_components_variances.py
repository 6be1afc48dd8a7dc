"""Scree and cumulative proportion, against eigenvalues."""

import numpy as np
import pytest

from lowdim import ICA, PCA, KernelPCA, PLSRegression, choose_n_components, plot

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 6)) @ np.diag([5, 4, 1, 1, 1, 0.5]) + 2.0
EIGENVALUES = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]


def curve(ax, i=0):
    return np.asarray(ax.lines[i].get_xydata(), dtype=float)


def test_scree_of_the_eigenvalues_with_the_rules_of_the_summary():
    """A PCA of few components keeps a summary of its rows, from which all eigenvalues and rules follow."""
    ax = PCA(2).fit(X).plot.scree()
    np.testing.assert_allclose(curve(ax), np.column_stack([np.arange(1, 7), EIGENVALUES]))
    known = [text.get_text() for text in ax.get_legend().get_texts()]
    choices = choose_n_components(X)
    for rule, answer in choices.items():
        if rule != "cv":
            assert any(text.startswith(f"{answer.k}: ") and rule in text for text in known), rule
    assert ax.get_title(loc="right") == "not available: cv"


def test_scree_marks_the_point_of_each_choice():
    choices = choose_n_components(X)
    ax = plot.scree(choices)
    points = {line.get_label(): line.get_xydata() for line in ax.lines[1:]}
    for answer in choices.values():
        (found,) = [
            place for label, place in points.items() if label.startswith(f"{answer.k}: ") and answer.rule in label
        ]
        if answer.k > 0:
            np.testing.assert_allclose(found, [[answer.k, EIGENVALUES[answer.k - 1]]])
        else:
            assert len(found) == 0
    np.testing.assert_allclose(points["threshold of parallel"][:, 1], choices["parallel"].curve)


def test_scree_of_other_rules_and_thresholds():
    choices = choose_n_components(X, ["kaiser", "bic"])
    assert len(plot.scree(choices).lines) == 1 + len({choices["kaiser"].k, choices["bic"].k})
    ax = plot.scree(choices, threshold="kaiser")
    np.testing.assert_allclose(curve(ax, 1)[:, 1], EIGENVALUES.mean())


def test_scree_without_a_summary_has_the_components_of_the_model():
    for model in (KernelPCA(3).fit(X), ICA(3, random_state=0).fit(RNG.laplace(size=(300, 3)))):
        ax = model.plot.scree()
        np.testing.assert_allclose(curve(ax)[:, 1], model.explained_variance_)
        assert ax.get_legend() is None


def test_without_centring_the_axes_are_about_mean_squares():
    for center, what in ((True, "variance"), (False, "mean square")):
        pca = PCA(3, center=center).fit(X)
        assert pca.plot.scree().get_ylabel() == what
        assert pca.plot.cumulative().get_ylabel() == f"cumulative proportion of {what}"


def test_variances_that_differ_little_do_not_touch_the_frame():
    kpca = KernelPCA(2, kernel="linear").fit(np.vstack([np.eye(3), -np.eye(3)]) * [1.0, 0.999, 0.1])
    low, high = kpca.plot.scree().get_ylim()
    assert low == 0.0 and high > 1.015 * kpca.explained_variance_[0]


def test_scree_of_many_components_says_how_many_it_shows():
    wide = RNG.standard_normal((60, 300))
    ax = PCA().fit(wide).plot.scree()
    assert len(curve(ax)) == 40
    assert "40 of 60 components" in ax.get_title(loc="right")
    choices = choose_n_components(wide, ["proportion", "elbow"])
    assert len(curve(plot.scree(choices))) == max(40, choices["proportion"].k)


@pytest.mark.parametrize("proportion", [0.5, 0.9, 1.0])
def test_cumulative_marks_the_first_number_that_reaches_the_level(proportion):
    pca = PCA().fit(X)
    ax = pca.plot.cumulative(proportion=proportion)
    sums = np.cumsum(EIGENVALUES) / EIGENVALUES.sum()
    np.testing.assert_allclose(curve(ax)[:, 1], sums)
    k = int(np.argmax(sums >= proportion - 1e-12)) + 1
    assert curve(ax, 1)[:, 0].tolist() == [k, k]
    assert ax.texts[0].get_text() == f"{proportion:.0%} with {k} component{'s' if k > 1 else ''}"
    assert any(np.allclose(line.get_ydata(), proportion) for line in ax.lines)


def test_cumulative_that_does_not_reach_the_level():
    assert PCA(1).fit(X).plot.cumulative().texts[0].get_text() == "90% is not reached"


def test_cumulative_of_a_regression_has_both_tables():
    pls = PLSRegression(3).fit(X, X[:, :2] + RNG.standard_normal((80, 2)))
    ax = pls.plot.cumulative(proportion=0.99)
    found = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert ax.texts[0].get_text().startswith("99% of X")
    np.testing.assert_allclose(found["variance of X"], np.cumsum(pls.explained_variance_ratio_))
    np.testing.assert_allclose(found["variance of y"], np.cumsum(pls.y_explained_variance_ratio_))


def test_cumulative_refuses_a_level_that_is_no_proportion():
    with pytest.raises(ValueError, match=r"proportion=90 must be a proportion"):
        PCA().fit(X).plot.cumulative(proportion=90)
