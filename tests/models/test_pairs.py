"""Two tables from wherever they come: every input, dtype, weight, stream and summary gives the same model."""

import numpy as np
import pytest
from scipy import sparse

from examples import STREAMS
from inputs import INPUTS, blocks, names, namespace, table, to_numpy
from lowdim import CCA, GCCA, PCR, PLSSVD, PLSCanonical, PLSRegression
from lowdim.errors import ResolutionWarning
from lowdim.reading import summarize
from lowdim.solvers import REDUCTIONS
from lowdim.summaries import Moments, Triangle

RNG = np.random.default_rng(0)
X = np.round(8 * RNG.standard_normal((24, 4)) @ RNG.standard_normal((4, 4)))
X[RNG.random(X.shape) < 0.2] = 0.0
Y = np.round(X[:, :2] @ [[1.0, 0.5, 0.0], [-0.5, 1.0, 0.3]] + 6 * RNG.standard_normal((24, 3)))
MODELS = {
    "PCR": lambda **o: PCR(2, **o),
    "PCR relevance": lambda **o: PCR(2, select="relevance", scale=True, **o),
    "PLSRegression": lambda **o: PLSRegression(2, **o),
    "simpls": lambda **o: PLSRegression(2, algorithm="simpls", scale=False, **o),
    "PLSCanonical": lambda **o: PLSCanonical(2, **o),
    "PLSSVD": lambda **o: PLSSVD(2, **o),
    "CCA": lambda **o: CCA(2, **o),
    "CCA ridge": lambda **o: CCA(2, regularization=(0.2, 0.4), scale=False, **o),
    "GCCA": lambda **o: GCCA(2, **o),
}
each_model = pytest.mark.parametrize("kind", list(MODELS))
each_input = pytest.mark.parametrize("name", list(INPUTS))


def results(model):
    """Fitted numbers that must agree."""
    if isinstance(model, GCCA):
        return {"correlations": model.correlations_, "x": model.rotations_[0], "y": model.rotations_[1]}
    found = {"x": model.x_rotations_, "y": model.y_rotations_, "mean": model.x_mean_}
    return found | {name: getattr(model, name) for name in ("coef_", "intercept_") if hasattr(model, name)}


def assert_same(model, reference, **tolerance):
    for name, value in results(reference).items():
        size = np.abs(to_numpy(value)).max()
        found = to_numpy(results(model)[name])
        np.testing.assert_allclose(found, to_numpy(value), err_msg=name, **({"atol": 1e-9 * size} | tolerance))


# ---- Inputs


@each_model
@each_input
def test_every_input_gives_the_same_model(name, kind):
    given = INPUTS[name]
    for dtype in given.dtypes:
        made = given.make(X.astype(dtype) if dtype in ("float32", "float64") else X)
        y = Y.astype(dtype) if dtype == "float32" else Y
        # With blocks of X come blocks of y, of other sizes.
        streamed = not given.by_column
        model = MODELS[kind]()
        if kind == "GCCA":
            model.fit([made, lambda y=y: iter([y[:5], y[5:]])] if streamed else [made, y])
        else:
            model.fit(made, [y[:5], y[5:]] if streamed else y)
        loose = {"atol": 2e-3 * np.abs(X).max()} if dtype == "float32" else {}
        assert_same(model, MODELS[kind]().fit(X, Y), **loose)
        xp = namespace(given.xp)
        first = results(model)["x"]
        assert first.dtype == given.result_dtype(dtype)
        assert type(first) is type(xp.asarray(np.zeros(1)))


@pytest.mark.parametrize(
    "name", ["C order", "csr_array", "csc_matrix", "pandas", "polars", "pyarrow", "list of lists", "memmap"]
)
@each_model
def test_every_kind_of_y_gives_the_same_model(name, kind):
    assert_same(MODELS[kind]().fit(X, INPUTS[name].make(Y)), MODELS[kind]().fit(X, Y))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_is_one_response(library):
    frame = table(library, Y)
    pls = PLSRegression(2).fit(table(library, X), frame["col0"])
    np.testing.assert_allclose(pls.coef_, PLSRegression(2).fit(X, Y[:, 0]).coef_, atol=1e-12)
    assert pls.predict(table(library, X)).shape == (24,)
    assert list(pls.feature_names_in_) == names(4)


@pytest.mark.parametrize("y", [lambda: Y[:, 0].tolist(), lambda: Y.tolist(), lambda: Y.astype(np.int8), lambda: Y > 0])
def test_lists_integers_and_booleans(y):
    expected = PLSRegression(2).fit(X, np.asarray(y(), dtype=float))
    np.testing.assert_allclose(PLSRegression(2).fit(X, y()).coef_, expected.coef_, atol=1e-12)


@pytest.mark.parametrize("xp", ["array_api_strict", "torch"])
@each_model
def test_tables_of_different_libraries(xp, kind):
    """The answer is in the library of X."""
    module = namespace(xp)
    mixed = MODELS[kind]().fit(module.asarray(X), Y)
    assert_same(mixed, MODELS[kind]().fit(X, Y))
    assert type(results(mixed)["y"]) is type(module.asarray(Y))
    assert_same(MODELS[kind]().fit(X, module.asarray(Y)), MODELS[kind]().fit(X, Y))


def test_float32_beside_float64():
    """Products are in float64 then, coefficients in the dtype of X."""
    far = Y + 1e7
    model = PLSRegression(2).fit(X.astype(np.float32), far)
    assert model.coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, PLSRegression(2).fit(X, Y).coef_, rtol=1e-5)


def _fitted(kind, route, A, B):
    """The model of two tables, fitted at once or in two blocks."""
    model = MODELS[kind]()
    return model.fit(A, B) if route == "fit" else model.partial_fit(A[:10], B[:10]).partial_fit(A[10:], B[10:])


def _both_scores(model, A, B):
    return model.transform([A, B]) if isinstance(model, GCCA) else model.transform(A, B)


@pytest.mark.parametrize("route", ["fit", "partial_fit"])
@pytest.mark.parametrize("offset", [0.0, 2.0**30])
@each_model
def test_each_table_keeps_its_own_dtype(kind, offset, route):
    """The entries of X are whole numbers, which float32 holds; those of y need float64 if they are far from zero."""
    narrow, far = X.astype(np.float32), Y + offset
    model, reference = _fitted(kind, route, narrow, far), _fitted(kind, route, X, far)
    scores, expected = _both_scores(model, narrow, far), _both_scores(reference, X, far)
    assert [z.dtype for z in scores] == [np.float32, np.float64]
    for z, r in zip(scores, expected, strict=True):
        np.testing.assert_allclose(z, r, atol=2e-5 * np.abs(r).max())
    if isinstance(model, GCCA):
        assert [m.dtype for m in model.means_] == [np.float32, np.float64]
        return
    for name in ("mean_", "scale_", "rotations_", "loadings_"):
        assert getattr(model, f"x_{name}").dtype == np.float32
        assert getattr(model, f"y_{name}").dtype == np.float64
    assert model.inverse_transform(*scores)[1].dtype == np.float64
    if hasattr(model, "predict"):
        assert model.predict(narrow).dtype == model.intercept_.dtype == np.float64
        np.testing.assert_allclose(model.predict(narrow) - offset, reference.predict(X) - offset, rtol=1e-4, atol=1e-4)


@each_model
def test_float64_beside_float32(kind):
    model, reference = MODELS[kind]().fit(X, Y.astype(np.float32)), MODELS[kind]().fit(X, Y)
    x, y = _both_scores(model, X, Y.astype(np.float32))
    assert (x.dtype, y.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(x, _both_scores(reference, X, Y)[0], rtol=1e-9, atol=1e-9)
    if hasattr(model, "predict"):
        assert model.predict(X).dtype == model.intercept_.dtype == np.float32
        assert model.coef_.dtype == np.float64
        np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["PLSRegression", "CCA", "PCR"])
def test_whole_numbers_as_responses_are_predicted_in_float64(kind):
    model = MODELS[kind]().fit(X.astype(np.float32), Y.astype(int))
    assert model.predict(X.astype(np.float32)).dtype == np.float64
    assert model.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kind", ["PLSRegression", "CCA", "PCR"])
def test_responses_out_of_the_range_of_float32_beside_float32(kind):
    model = MODELS[kind]().fit(X.astype(np.float32), Y * 2.0**200)
    expected = MODELS[kind]().fit(X, Y).predict(X)
    np.testing.assert_allclose(model.predict(X.astype(np.float32)) / 2.0**200, expected, rtol=1e-4, atol=1e-4)


def test_predictions_out_of_the_range_of_float32_from_coefficients_within_it():
    model, plain = (PLSRegression(2).fit(X.astype(np.float32), Y * unit) for unit in (2.0**120, 1.0))
    far = (X * 2.0**40).astype(np.float32)
    np.testing.assert_allclose(model.predict(far) / 2.0**120, plain.predict(far), rtol=1e-4)


@pytest.mark.parametrize("solver", list(REDUCTIONS))
@each_model
def test_sparse_beside_dense(kind, solver):
    wide = np.column_stack([X, np.zeros((24, 40))])
    wide[np.arange(24), 4 + np.arange(24)] = 1.0
    wide_model = MODELS[kind](solver=solver)
    if kind == "CCA" or kind == "GCCA":
        wide_model.set_params(regularization=0.1)
    dense = wide_model.__class__(**wide_model.get_params()).fit(wide, Y + 3)
    assert_same(wide_model.fit(sparse.csr_array(wide), Y + 3), dense)
    assert_same(wide_model.fit(wide, sparse.csr_array(Y + 3)), dense)


# ---- Weights


@pytest.mark.filterwarnings("ignore::lowdim.errors.ResolutionWarning")  # repeated rows have less rank than rows
@pytest.mark.parametrize("solver", ["auto", *REDUCTIONS])
@pytest.mark.parametrize("shape", ["tall", "wide"])
@each_model
def test_weights_are_repetitions(kind, solver, shape):
    w = np.random.default_rng(1).integers(0, 4, 24).astype(float)
    x = X if shape == "tall" else np.column_stack([X, RNG.standard_normal((24, 40))])
    model = MODELS[kind](solver=solver)
    if shape == "wide" and kind in ("CCA", "GCCA"):
        model.set_params(regularization=0.3)
    repeated = model.__class__(**model.get_params()).fit(
        np.repeat(x, w.astype(int), axis=0), np.repeat(Y, w.astype(int), axis=0)
    )
    assert_same(model.fit(x, Y, sample_weight=w), repeated, atol=1e-7)
    np.testing.assert_allclose(model.total_weight_, w.sum())


# ---- Streams and summaries


@pytest.mark.filterwarnings("ignore::lowdim.errors.SmallSampleWarning")  # after the first few rows
@pytest.mark.parametrize("solver", ["auto", *STREAMS])
@each_model
def test_blocks_one_after_the_other(kind, solver):
    model = MODELS[kind](solver=solver)
    for x, y in zip(blocks(X), blocks(Y), strict=True):
        if len(x):
            model.partial_fit(x, y)
    assert_same(model, MODELS[kind](solver=solver).fit(X, Y))


@pytest.mark.parametrize("summary", [Moments, Triangle])
@each_model
def test_from_a_summary(kind, summary):
    seen = summarize(np.hstack([X, Y]), summary(7, widths=(4, 3)))
    model = MODELS[kind]().fit_summary(seen)
    assert_same(model, MODELS[kind]().fit(X, Y))
    np.testing.assert_allclose(to_numpy(seen.mean), np.hstack([X, Y]).mean(axis=0))


@each_model
def test_from_a_covariance(kind):
    both = np.hstack([X, Y])
    cov = np.cov(both, rowvar=False)
    model = MODELS[kind]().fit_summary(Moments.from_covariance(cov, 24, both.mean(axis=0), widths=(4, 3)))
    assert_same(model, MODELS[kind]().fit(X, Y))


@each_model
def test_a_summary_goes_on_with_partial_fit(kind):
    seen = summarize(np.hstack([X[:10], Y[:10]]), Moments(7, widths=(4, 3)))
    assert_same(MODELS[kind]().fit_summary(seen).partial_fit(X[10:], Y[10:]), MODELS[kind]().fit(X, Y))


def test_summaries_that_say_nothing_of_two_tables():
    seen = summarize(np.hstack([X, Y]), Moments)
    with pytest.raises(
        ValueError, match=r"the summary is of 1 table\(s\), CCA needs two: make it with widths=\(p, q\)"
    ):
        CCA().fit_summary(seen)
    with pytest.raises(
        TypeError, match="fit_summary needs a Moments or a Triangle of the tables side by side, got list"
    ):
        PLSRegression().fit_summary([X, Y])
    with pytest.raises(ValueError, match="solver='gram' cannot start from a Moments; use 'auto' or 'covariance'"):
        PLSRegression(solver="gram").fit_summary(summarize(np.hstack([X, Y]), Moments(7, widths=(4, 3))))
    with pytest.raises(ValueError, match="the summary is empty"):
        PLSRegression().fit_summary(Moments(7, widths=(4, 3)))


def test_summaries_of_tables_can_be_saved(tmp_path):
    for kind in (Moments, Triangle):
        seen = summarize(np.hstack([X, Y]), kind(7, widths=(4, 3)))
        seen.save(tmp_path / "seen.safetensors")
        again = kind.load(tmp_path / "seen.safetensors")
        assert again.widths == (4, 3)
        np.testing.assert_array_equal(PLSRegression().fit_summary(again).coef_, PLSRegression().fit_summary(seen).coef_)


def test_a_summary_that_has_lost_the_digits_says_so():
    x = np.column_stack([X[:, 0], X[:, 0] + 1e-7 * X[:, 1]])
    seen = summarize(np.column_stack([x, X[:, 1]]), Moments(3, widths=(2, 1)))
    with pytest.warns(ResolutionWarning, match="solver='covariance' cannot distinguish the smallest directions"):
        CCA(1).fit_summary(seen)


@pytest.mark.parametrize("kind", ["PLSRegression", "CCA", "PCR"])
def test_a_generator_is_read_once(kind):
    model = MODELS[kind]().fit((b for b in blocks(X)), (b for b in blocks(Y)))
    assert_same(model, MODELS[kind]().fit(X, Y))
    assert model.n_passes_ == 1


def test_many_threads_read_both_tables():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((60_000, 20))
    y = x[:, :2] + rng.standard_normal((60_000, 2))
    one = PLSRegression(3).fit([x[:100], x[100:]], [y[:50], y[50:]])
    np.testing.assert_allclose(PLSRegression(3).fit(x, y).coef_, one.coef_, atol=1e-12)
    slow = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(axis=0), rcond=None)[0].T
    np.testing.assert_allclose(PLSRegression(None).fit(x, y).coef_, slow, atol=1e-9)


# ---- scikit-learn's output


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    frame = table(library, X)
    for model, name in ((PLSRegression(2), "comp"), (CCA(2), "pair"), (PCR(2), "PC")):
        out = model.set_output(transform=library).fit(frame, Y).transform(frame)
        assert list(out.columns) == [f"{name}1", f"{name}2"]
        np.testing.assert_allclose(out.to_numpy(), model.set_output(transform="default").transform(frame))


@each_model
def test_it_prints(kind):
    text = str(MODELS[kind]().fit(X, Y))
    assert "24 rows, " in text.splitlines()[0] and len(text.splitlines()) >= 3
    assert "<table>" in MODELS[kind]().fit(X, Y)._repr_html_()


def test_it_prints_covariances_whose_squares_overflow():
    def shares(model):
        return [line.split()[-1] for line in str(model).splitlines() if line.startswith("comp")]

    large = PLSSVD(2, scale=False).fit(X * 1e100, Y * 1e100)
    assert shares(large) == shares(PLSSVD(2, scale=False).fit(X, Y)) and len(shares(large)) == 2
