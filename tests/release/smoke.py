"""Uses the lowdim that is installed, for a minute at most: models, files, and what the extras bring.

It needs nothing beside it and no test framework. `make dist` copies it out of the repository and runs it in fresh
environments: `smoke.py bare` where only lowdim is installed, `smoke.py extras` where its extras cli, plot and report
are too.
"""

import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_wine

import lowdim


def check_the_place() -> None:
    """lowdim is the one of this environment, and `import lowdim` loads nothing that an extra brings."""
    assert Path(lowdim.__file__).is_relative_to(sys.prefix), lowdim.__file__
    assert lowdim.__version__ == version("lowdim")
    # rich is not among them: scikit-learn loads it where it is installed.
    loaded = {"matplotlib", "plotly", "jinja2", "typer", "pyarrow", "torch", "dask"} & set(sys.modules)
    assert not loaded, f"import lowdim loaded {loaded}"


def check_models() -> None:
    """One model of each kind, against NumPy or an identity."""
    X = load_wine().data
    pca = lowdim.PCA(3).fit(X)
    assert np.allclose(pca.explained_variance_, np.linalg.eigvalsh(np.cov(X.T))[:-4:-1])
    print(pca)
    streamed = lowdim.PCA(3).fit(block for block in np.array_split(X, 5))
    assert np.allclose(streamed.components_, pca.components_)
    incomplete = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    filled = lowdim.PPCA(2, scale=True).fit(incomplete).impute(incomplete)
    assert np.array_equal(filled[~np.isnan(incomplete)], X[~np.isnan(incomplete)]) and np.isfinite(filled).all()
    factors = lowdim.FactorAnalysis(3).fit(X)
    assert np.allclose(np.diag(factors.get_covariance()), X.var(axis=0))
    cca = lowdim.CCA().fit(X[:, :4], X[:, 4:])
    pairs = [scores[:, 0] for scores in cca.transform(X[:, :4], X[:, 4:])]
    assert np.isclose(np.corrcoef(*pairs)[0, 1], cca.correlations_[0])
    everything = lowdim.PLSRegression(12, scale=True).fit(X[:, 1:], X[:, 0]).predict(X[:, 1:])
    design = np.column_stack([np.ones(len(X)), X[:, 1:]])
    assert np.allclose(np.ravel(everything), design @ np.linalg.lstsq(design, X[:, 0], rcond=None)[0])
    digits = load_digits().data[:200]
    kernel = lowdim.KernelPCA(5, kernel="rbf").fit(digits)
    assert np.isfinite(kernel.inverse_transform(kernel.transform(digits))).all()
    print(lowdim.choose_n_components(X, scale=True))


def check_files() -> None:
    """What is saved is loaded with the same bits."""
    X = load_wine().data
    for model in (lowdim.PCA(3), lowdim.Whitening(), lowdim.FactorAnalysis(2)):
        lowdim.save(model.fit(X), "saved.model")
        assert np.array_equal(lowdim.load("saved.model").transform(X), model.transform(X))
    np.save("wine.npy", X)
    assert np.allclose(lowdim.PCA(3).fit("wine.npy").mean_, X.mean(axis=0))


def check_what_is_missing() -> None:
    """Without its extra, the report says how to install it."""
    try:
        lowdim.report(load_wine().data, "report.html")
    except ImportError as error:
        assert "lowdim[report]" in str(error), error
    else:
        raise AssertionError("the extra 'report' is installed: this is not a bare environment")


def check_extras() -> None:
    """The command, a plot and a report."""
    command = str(Path(sysconfig.get_path("scripts")) / "lowdim")
    printed = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert lowdim.__version__ in printed, printed
    wine = load_wine()
    rows = np.column_stack([wine.data, wine.target])
    np.savetxt("wine.csv", rows, "%.17g", ",", header=",".join([*wine.feature_names, "kind"]), comments="")
    for line in (
        "fit pca wine.csv --columns alcohol --columns ash --columns hue -k 2 -o wine.model",
        "plot scree wine.model -o scree.png",
        "report wine.csv --hue kind -o report.html",
    ):
        subprocess.run([command, *line.split()], check=True)
    assert Path("scree.png").read_bytes().startswith(b"\x89PNG")
    page = Path("report.html").read_text(encoding="utf-8")
    # The page holds its style sheets and its scripts, which are files of the package.
    assert page.count("<style") and page.count("<script") and "alcohol" in page


if __name__ == "__main__":
    check_the_place()
    check_models()
    check_files()
    {"bare": check_what_is_missing, "extras": check_extras}[sys.argv[1]]()
    print(f"lowdim {lowdim.__version__} works ({sys.argv[1]}).")
