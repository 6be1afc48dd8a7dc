"""`import lowdim` is quick and loads no library that a small fit does not need."""

import json
import subprocess
import sys

HEAVY = ["torch", "dask", "pyarrow", "matplotlib", "polars", "cupy", "zarr", "onnx", "skl2onnx", "plotly", "jinja2"]


def loaded(statements, blocked=()):
    """The heavy modules that are loaded after `statements` in a fresh interpreter."""
    code = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {list(blocked)!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
{statements}
import json
print(json.dumps([name for name in {HEAVY!r} if sys.modules.get(name) is not None]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_loads_nothing_heavy():
    """With pandas out of the way: scikit-learn imports it where it is installed, and pandas imports pyarrow."""
    assert loaded("import lowdim", blocked=["pandas"]) == []


def test_import_adds_nothing_to_what_its_dependencies_load():
    dependencies = """
import array_api_compat, narwhals, numpy, scipy.linalg, scipy.sparse, threadpoolctl
import contextlib, sklearn.base, sklearn.utils.validation
with contextlib.suppress(ModuleNotFoundError):  # before scikit-learn 1.9
    import sklearn.callback
"""
    assert loaded("import lowdim") == loaded(dependencies)


def test_fits_of_arrays_load_nothing_heavy_either():
    fits = """
import numpy as np, scipy.sparse as sp, lowdim
X = np.random.default_rng(0).standard_normal((30, 4))
lowdim.PCA(2).fit(X).transform(X)
lowdim.PCA(2, solver="krylov").fit(sp.csr_array(X))
lowdim.Whitening("zca").fit([X[:9], X[9:]])
"""
    assert loaded(fits, blocked=["pandas"]) == []


def test_all_public_names_are_there():
    import lowdim

    for name in lowdim.__all__:
        assert getattr(lowdim, name) is not None


def test_drop_in_classes_are_an_attribute_that_is_imported_when_it_is_used():
    assert "sklearn.cross_decomposition" in imported("import lowdim; lowdim.sklearn.PCA")
    assert "sklearn.cross_decomposition" not in imported("import lowdim")


def imported(statements):
    """The modules that are imported after `statements` in a fresh interpreter."""
    code = f"{statements}\nimport sys; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
