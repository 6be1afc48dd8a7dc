"""One of each kind of result of selection, and a plan."""

import lowdim
from examples import X, Y


def selected():
    """The results, by a label."""
    pls = lowdim.PLSRegression(2).fit(X, Y)
    return {
        "Plan": lowdim.plan(lowdim.PCA(2), X),
        "Choice": lowdim.PCA("minka").fit(X).choice_,
        "Choice of cross-validation": lowdim.PCA("cv").fit(X).choice_,
        "Choices": lowdim.choose_n_components(X),
        "CrossValidation": lowdim.cross_validate(lowdim.PCA(), X, cv=4),
        "CrossValidation of settings": lowdim.cross_validate(
            lowdim.PLSRegression(), X, Y, cv=3, param_grid={"scale": [True, False]}
        ),
        "Bootstrap": lowdim.bootstrap(lowdim.PCA(2), X, n_resamples=20, random_state=0),
        "PermutationTest": lowdim.permutation_test(lowdim.CCA(), X, Y, n_resamples=20, random_state=0),
        "Jackknife": pls.jackknife(X, Y, cv=5),
        "WidthChoice": lowdim.selection.choose_width(X, 2, factors=(1.0, 0.5), n_resamples=1),
    }
