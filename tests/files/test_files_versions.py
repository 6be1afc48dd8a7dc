"""Files of models of all versions of the format open: those of version 1.0 are kept in `saved/`.

They were written by `lowdim.save(fitted(name), ...)` for each of these models. Files of a later version are added to
them, and none is ever replaced.
"""

from pathlib import Path

import numpy as np
import pytest

import lowdim
from examples import MODELS, OF_NUMBERS, X, Y, close, make, tables
from files.selection_results import selected
from lowdim._core import container
from lowdim._core.container import ADDED
from lowdim.errors import LowdimWarning, without_warnings

SAVED = Path(__file__).parent / "saved"
#: The rows to which the models of the files were fitted: few of them, so that files of kernel PCA are small.
ROWS = (X[:15], Y[:15])

#: Parameters whose default was another one then.
OTHER_DEFAULTS = {"ICA": {"n_init": 1}}


def fitted(name):
    with without_warnings(LowdimWarning):
        return make(name).fit(*tables(name, *ROWS))


@pytest.mark.parametrize("version", ["1.0"])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_files_of_all_versions_open(name, version):
    path = SAVED / f"{name}_{version}.safetensors"
    found, expected = lowdim.load(path), fitted(name)
    assert lowdim.files.header(path)["version"] == version
    compared = MODELS[name].compared
    for attribute, value in compared(expected).items():
        close(compared(found)[attribute], value, 1e-7)
    assert repr(found) == repr(expected.set_params(**OTHER_DEFAULTS.get(name, {})))
    assert found.transform(ROWS[0]).shape == expected.transform(ROWS[0]).shape


@pytest.mark.parametrize("version", ["1.0"])
def test_files_of_results_of_all_versions_open(version):
    """`result_Choice_1_1.0` is the second of `selected()`, and so on."""
    for i, expected in enumerate(selected().values()):
        path = SAVED / f"result_{type(expected).__name__}_{i}_{version}.safetensors"
        found = lowdim.load(path)
        assert type(found) is type(expected)
        assert lowdim.files.header(path)["version"] == version
        assert len(str(found).splitlines()) == len(str(expected).splitlines())


def rewritten(path, document_of):
    """A file of a PCA whose document was changed."""
    lowdim.save(lowdim.PCA(2).fit(X), path)
    document, arrays = container.read(path)
    document = {name: value for name, value in document.items() if name not in ADDED}
    container.write(path, document_of(document), arrays)


def test_a_newer_version_with_more_attributes_is_named_in_the_error(tmp_path, monkeypatch):
    path = tmp_path / "model"

    def with_more(document):
        document["of"]["fitted"]["new_"] = 1
        return document

    def written_by_newer(document_of):
        with monkeypatch.context() as newer:
            newer.setattr("lowdim._core.container.VERSION", (1, 7))
            rewritten(path, document_of)

    written_by_newer(lambda document: document)
    np.testing.assert_array_equal(lowdim.load(path).components_, lowdim.PCA(2).fit(X).components_)
    written_by_newer(with_more)
    with pytest.raises(ValueError, match=r"no attribute new_\. A newer version of lowdim wrote it"):
        lowdim.load(path)


def test_a_newer_major_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model"
    with monkeypatch.context() as newer:
        newer.setattr("lowdim._core.container.VERSION", (2, 0))
        lowdim.save(lowdim.PCA(2).fit(X), path)
    with pytest.raises(ValueError, match=r"version 2\.0 of the format, which this version of lowdim cannot read"):
        lowdim.load(path)
