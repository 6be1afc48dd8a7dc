"""A leading `~` is the home directory in every path that lowdim takes."""

import numpy as np
import pytest

import lowdim
from lowdim import PCA, scan
from lowdim.reading import Checkpoint, summarize
from lowdim.summaries import Moments

X = np.random.default_rng(0).standard_normal((30, 3))


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def test_only_the_beginning_is_replaced(home, monkeypatch):
    places = {"~/a~/b": "a~/b", "a/~": "here/a/~", home / "~": "~"}
    for place in places.values():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(home / "here")
    for given, place in places.items():
        lowdim.save(PCA(2).fit(X), given)
        assert (home / place).is_file()
        assert lowdim.load(given).n_components_ == 2


def test_models_and_summaries(home):
    lowdim.save(PCA(2).fit(X), "~/model")
    np.testing.assert_array_equal(lowdim.load("~/model").components_, PCA(2).fit(X).components_)
    assert lowdim.files.header("~/model")["class"].endswith("PCA")
    summarize(X, Moments).save("~/summary")
    np.testing.assert_array_equal(Moments.load("~/summary").mean, summarize(X, Moments).mean)
    assert {path.name for path in home.iterdir()} == {"model", "summary"}


def test_rows_and_results(home):
    np.save(home / "rows.npy", X)
    assert PCA(2).fit(X).transform_to("~/rows.npy", "~/scores.npy") == "~/scores.npy"
    assert np.load(home / "scores.npy").shape == (30, 2)
    assert scan("~/r*.npy").columns == [0, 1, 2]


def test_checkpoints(home):
    class Interrupted(Exception):
        pass

    def blocks(stop):
        for i in range(0, 30, 5):
            if i == stop:
                raise Interrupted
            yield X[i : i + 5]

    for checkpoint in ("~/pass", Checkpoint("~/pass", every_seconds=0)):
        with pytest.raises(Interrupted):
            summarize(blocks(20), Moments, checkpoint=checkpoint)
        assert (home / "pass").exists()
        found = summarize(blocks(None), Moments, checkpoint=checkpoint)
        np.testing.assert_array_equal(found.mean, summarize(blocks(None), Moments).mean)
        assert not (home / "pass").exists()


def test_a_checkpoint_is_not_loaded_as_a_result(home):
    def broken():
        yield X[:10]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PCA(2).fit(broken(), checkpoint="~/pass")
    for load in (lowdim.load, Moments.load):
        with pytest.raises(ValueError, match=r"pass is the checkpoint of a pass over rows .*the pass goes on where"):
            load("~/pass")
