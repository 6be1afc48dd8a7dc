"""How auto-encoders are trained: sources, windows, weights, interruptions, modules of the user, files and graphs."""

import _thread
import copy
import importlib
import pickle
import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.utils.estimator_checks import parametrize_with_checks

import lowdim
from inputs import INPUTS, on_disk, to_numpy, with_missing
from lowdim import PCA, AutoEncoder
from lowdim._core.threads import watched_by
from lowdim.errors import ConvergenceWarning
from lowdim.reading.rows import Rows
from lowdim.solvers import Adam, Status
from lowdim.solvers.neural.network import ACTIVATIONS
from lowdim.solvers.neural.training import HeldOut
from lowdim.sources import open_source
from recorder import RecordedProgress, heard

torch = pytest.importorskip("torch", reason="torch is not installed, and networks are trained by it")
training = importlib.import_module("lowdim.solvers.neural.training")

DIGITS = datasets.load_digits().data[np.random.default_rng(0).permutation(1797)]
#: Whole numbers, which every kind of input holds exactly.
X = DIGITS[:600, 20:40]
QUICK = Adam(max_epochs=5)
pytestmark = pytest.mark.filterwarnings("ignore:solver='adam' stopped after:lowdim.errors.ConvergenceWarning")


def quick(**options):
    return AutoEncoder(3, **{"hidden": (16,), "solver": QUICK, **options})


# ---- Sources


@pytest.mark.parametrize("kind", [name for name, row in INPUTS.items() if "float64" in row.dtypes])
def test_every_kind_of_input_gives_the_same_network(kind):
    expected = quick().fit(X)
    model = quick().fit(INPUTS[kind].make(X))
    np.testing.assert_allclose(model.reconstruction_error_, expected.reconstruction_error_, rtol=1e-5)
    assert model.n_samples_ == 600 and model.n_held_out_ == expected.n_held_out_


def test_float32_rows_give_float32_results():
    rows = X.astype(np.float32)
    model = quick(variational=True).fit(rows)
    assert model._network.encoder.matrix.dtype == np.float32
    scores = model.transform(rows)
    for found in (scores, model.inverse_transform(scores), model.score_samples(rows), model.sample(2)):
        assert found.dtype == np.float32
    np.testing.assert_allclose(model.linear_error_, quick(variational=True).fit(X).linear_error_, rtol=1e-4)


def test_tensors_are_trained_on_their_device_and_stay_tensors():
    rows = torch.from_numpy(X)
    model = quick().fit(rows)
    scores = model.transform(rows)
    assert isinstance(scores, torch.Tensor) and scores.device == rows.device
    assert isinstance(model.inverse_transform(scores), torch.Tensor)
    np.testing.assert_allclose(to_numpy(scores), quick().fit(X).transform(X), atol=1e-3)


def test_tensors_with_missing_values_are_filled():
    incomplete = with_missing(X)
    model = quick().fit(torch.from_numpy(incomplete))
    filled = model.impute(torch.from_numpy(incomplete))
    assert isinstance(filled, torch.Tensor) and torch.isfinite(filled).all()
    np.testing.assert_allclose(to_numpy(filled), quick().fit(incomplete).impute(incomplete), atol=0.1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that torch can use")
@pytest.mark.parametrize("variational", [False, True])
def test_tensors_on_a_gpu_are_trained_there(variational):
    rows = torch.from_numpy(X).cuda()
    model = quick(variational=variational).fit(rows)
    scores = model.transform(rows)
    assert scores.is_cuda and model.inverse_transform(scores).is_cuda and model.sample(2).is_cuda
    expected = quick(variational=variational).fit(X)
    np.testing.assert_allclose(model.linear_error_, expected.linear_error_, rtol=1e-9)
    np.testing.assert_allclose(model.reconstruction_error_, expected.reconstruction_error_, rtol=0.05)
    with pytest.raises(ValueError, match="block 1 of the stream"):
        quick().fit([rows, torch.from_numpy(X)])


def test_rows_on_two_devices_are_refused():
    there = torch.empty((300, 20), dtype=torch.float64, device="meta")
    with pytest.raises(ValueError, match=r"block 1 of the stream is torch torch.float64 on meta.*one dtype, kind and"):
        quick().fit([torch.from_numpy(X[:300]), there])
    model = quick().fit(torch.from_numpy(X))
    with pytest.raises(ValueError, match="transform"):
        model.transform(there)


def test_windows_of_a_memory_map_come_from_several_places():
    rows = on_disk(np.repeat(X, 5, axis=0))
    model = quick(solver=Adam(max_epochs=5, window=500)).fit(rows)
    kept = quick().fit(rows)
    assert model.n_passes_ > 5 and kept.n_passes_ == 3
    assert model.n_held_out_ == kept.n_held_out_
    assert model.reconstruction_error_ < model.linear_error_


def stream(rows=DIGITS[:, 20:40]):
    """Blocks of 100 rows, which can be read once."""
    for i in range(0, len(rows), 100):
        yield rows[i : i + 100]


def test_a_stream_is_trained_on_window_by_window():
    model = quick(solver=Adam(window=400)).fit(stream())
    assert model.n_samples_ == len(DIGITS) and model.status_ is Status.FIXED_STEPS
    assert model.n_iter_ == 5 * Adam().epochs_per_window and model.n_passes_ < 5
    assert "read once" in str(AutoEncoder(3).plan(stream()))
    assert model.reconstruction_error_ < 0.95 * model.linear_error_
    again = quick(solver=Adam(window=400)).fit(stream())
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_later_windows_of_a_stream_are_learnt_from():
    wide = AutoEncoder(10, hidden=(64,), solver=Adam(window=400))
    first, whole = copy.deepcopy(wide).fit(stream(DIGITS[:400])), wide.fit(stream(DIGITS))
    unseen = DIGITS[400:]
    assert whole.reconstruction_error(unseen).mean() < 0.85 * first.reconstruction_error(unseen).mean()
    assert whole.reconstruction_error(unseen).mean() < 0.7 * PCA(10).fit(DIGITS).reconstruction_error(unseen).mean()


def test_a_stream_that_fits_into_a_window_is_as_an_array():
    whole = quick().fit(stream())
    np.testing.assert_array_equal(whole.transform(X), quick().fit(DIGITS[:, 20:40]).transform(X))


def test_windows_of_a_stream_may_have_no_row_of_positive_weight():
    w = np.repeat([1.0, 0.0, 2.0], 200)
    model = quick(solver=Adam(window=200)).fit(stream(X), sample_weight=w)
    assert model.n_samples_ == 400 == quick().fit(X, sample_weight=w).n_samples_
    assert model.n_iter_ == 2 * Adam().epochs_per_window


def test_infinity_in_a_later_window_is_named():
    bad = X.copy()
    bad[550, 3] = np.inf
    with pytest.raises(ValueError, match=r"(?=.*row 550)(?=.*column 3)"):
        quick(solver=Adam(window=200, max_epochs=2)).fit(iter([bad[:200], bad[200:400], bad[400:]]))


def test_held_out_rows_depend_on_nothing_but_their_numbers():
    choice = HeldOut(0.1, 20, 0)
    chosen = choice.chosen(X)
    assert 30 < chosen.sum() < 100
    order = np.random.default_rng(1).permutation(600)
    np.testing.assert_array_equal(choice.chosen(X[order]), chosen[order])
    np.testing.assert_array_equal(choice.chosen(sparse.csr_array(X)), chosen)
    np.testing.assert_array_equal(choice.chosen(torch.from_numpy(X)), chosen)
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(choice.chosen(torch.from_numpy(narrow)), choice.chosen(narrow))
    # None of two equal rows is in training while the other one decides.
    twice = choice.chosen(np.vstack([X, -0.0 * X + X]))
    np.testing.assert_array_equal(twice[:600], twice[600:])


@pytest.mark.parametrize("size", [200, 1000])
def test_rows_are_either_trained_on_or_held_out(size):
    network = AutoEncoder(3, hidden=()).fit(X)._network
    rows = training.Supply(Rows(open_source(X)), network, 0.1, size, 0, torch.zeros(0, dtype=torch.float64))
    chosen = HeldOut(0.1, 20, 0).chosen(X)
    taken = [torch.vstack([each.take(slice(None))[0] for each in part]) for part in (rows.epoch(), rows.judges)]
    for V, expected in zip(taken, (X[~chosen], X[chosen]), strict=True):
        found = V.numpy() * network.unit + network.mean
        # Windows come from random places of the table.
        np.testing.assert_allclose(*(np.sort(each.round(6), axis=0) for each in (found, expected)), atol=1e-9)


@pytest.mark.parametrize("variational", [False, True])
def test_weights_of_few_rows_are_repetitions(variational):
    w = np.random.default_rng(2).integers(0, 3, 100)
    weighted = quick(variational=variational).fit(X[:100], sample_weight=w)
    repeated = quick(variational=variational).fit(np.repeat(X[:100], w, axis=0)[::-1])
    np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))


def test_rows_of_weight_zero_are_not_seen():
    w = np.random.default_rng(2).integers(0, 2, 600).astype(float)
    spoilt = np.where(w[:, None] > 0, X, 1e6)
    np.testing.assert_array_equal(
        quick().fit(spoilt, sample_weight=w).transform(X), quick().fit(X, sample_weight=w).transform(X)
    )


# ---- The course of training


def test_the_same_seed_gives_the_same_numbers_and_leaves_the_generator_alone():
    module = torch.nn.Sequential(torch.nn.Dropout(0.2), torch.nn.Linear(3, 20))
    before = torch.random.get_rng_state()
    first, second, other = (quick(random_state=seed).fit(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    assert first.loss_ == second.loss_ != other.loss_
    both = [quick(decoder=module, random_state=1).fit(X).transform(X) for _ in range(2)]
    np.testing.assert_array_equal(*both)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.fixture
def hears_ctrl_c():
    """Ctrl-C is heard, also where it was ignored at the start, as it is in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupting(RecordedProgress):
    """Presses Ctrl-C after the first step of an epoch."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def step(self):
        super().step()
        if [name for name, _ in self.passes].count("Adam") == self.epoch:
            self.epoch = 0
            _thread.interrupt_main()


@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("variational", [False, True])
def test_ctrl_c_keeps_the_best_state(variational):
    progress = Interrupting(31)
    expected = quick(variational=variational, solver=Adam(max_epochs=30)).fit(X)
    with (
        watched_by(progress),
        pytest.warns(ConvergenceWarning, match="stopped by Ctrl-C after 30 epochs; the best state so far is kept"),
    ):
        model = quick(variational=variational, solver=Adam()).fit(X)
    assert model.status_ is Status.INTERRUPTED and progress.ended == len(progress.passes)
    assert model.loss_ == expected.loss_ and min(model.loss_) < model.loss_[0]
    np.testing.assert_array_equal(model.transform(X), expected.transform(X))


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_ends_a_stream_too():
    def endless():
        while True:
            yield from stream()

    with watched_by(Interrupting(25)), pytest.warns(ConvergenceWarning, match="stopped by Ctrl-C after 24 epochs"):
        model = quick(solver=Adam(window=400)).fit(endless())
    assert model.status_ is Status.INTERRUPTED and model.n_samples_ == 1200
    assert model.reconstruction_error_ <= model.linear_error_


def test_a_loss_that_is_no_number_is_recovered_from():
    model = AutoEncoder(3, hidden=(16,), solver=Adam(rate=1e3, max_epochs=60)).fit(X)
    assert np.isfinite(model.loss_).all()
    assert model.reconstruction_error_ <= model.linear_error_


def test_after_nan_training_goes_on_from_the_best_state_with_a_smaller_rate(monkeypatch):
    class SpoiltAtTimes(torch.nn.Module):
        """Its results are NaN in the third epoch of eight steps."""

        def __init__(self):
            super().__init__()
            self.layers, self.steps = modules()[1], 0

        def forward(self, U):
            self.steps += self.training
            return self.layers(U) * (np.nan if self.training and 17 <= self.steps <= 24 else 1.0)

    factors = []
    slow_down = training._Training._slow_down
    monkeypatch.setattr(
        training._Training, "_slow_down", lambda self, factor: (factors.append(factor), slow_down(self, factor))
    )
    model = quick(decoder=SpoiltAtTimes(), solver=Adam(rate=1e-2, max_epochs=60)).fit(X)
    assert factors[0] == 0.1 and 0.1 not in factors[1:]
    assert np.isfinite(model.loss_).all() and model.n_iter_ > 10
    assert model.reconstruction_error_ < model.linear_error_


def test_a_loss_that_stays_no_number_is_an_error_with_advice():
    class Spoilt(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 20)

        def forward(self, U):
            # The logarithm of negative numbers is NaN, as soon as it counts.
            return torch.log(self.layer(U)) if self.training else self.layer(U)

    with pytest.raises(ValueError, match=r"the loss was not finite.*solver=Adam\(rate=...\).*logarithms"):
        quick(decoder=Spoilt(), solver=Adam(max_epochs=50)).fit(X)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = quick().fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="encoder must map"):
        model.set_params(encoder=torch.nn.Linear(20, 4)).fit(X)
    np.testing.assert_array_equal(model.set_params(encoder=None).transform(X), before)


def test_each_epoch_is_told_to_whoever_watches():
    progress = RecordedProgress()
    with watched_by(progress):
        quick(solver=Adam(max_epochs=3)).fit(X)
    reported = [name for name, _ in progress.passes]
    assert reported.count("Adam") == 3 and "Moments" in reported
    assert progress.ended == len(reported)
    # Few rows are gone through twice: about 540 of them, in batches of 128.
    assert [steps for name, steps in zip(reported, progress.steps, strict=True) if name == "Adam"] == [8, 8, 8]


def test_callbacks_of_scikit_learn_are_told_of_each_epoch():
    pytest.importorskip("sklearn.callback", reason="callbacks need scikit-learn 1.9 or newer")
    recorder = heard(quick(solver=Adam(max_epochs=3)), X)
    assert recorder.passes.count("Adam") == 3
    assert recorder.passes[0] == "Moments" == recorder.passes[-1], "the PCA at the start, and errors at the end"


def test_too_few_epochs_are_warned_of():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 epochs.*Raise max_epochs"):
        AutoEncoder(3, solver=Adam(max_epochs=2)).fit(X)


# ---- Modules of the user


def modules():
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    return encoder, torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.Tanh(), torch.nn.Linear(32, 20))


def test_modules_of_the_user_begin_at_pca_too():
    encoder, decoder = modules()
    given = copy.deepcopy(encoder.state_dict())
    model = AutoEncoder(3, encoder=encoder, decoder=decoder).fit(X)
    np.testing.assert_allclose(model.linear_error_, PCA(3).fit(X).reconstruction_error(X).mean())
    assert model.reconstruction_error_ < 0.9 * model.linear_error_
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, given[name])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize("own", [False, True])
def test_encoder_and_decoder_are_torch_modules(own):
    encoder, decoder = modules() if own else (None, None)
    model = quick(encoder=encoder, decoder=decoder, solver=Adam(max_epochs=20)).fit(X)
    rows = torch.from_numpy(X)
    with torch.no_grad():
        scores = model.encoder_(rows)
        back = model.decoder_(scores)
    np.testing.assert_allclose(scores, model.transform(X), atol=1e-10)
    np.testing.assert_allclose(back, model.inverse_transform(scores.numpy()), atol=1e-10)
    assert isinstance(model.encoder_, torch.nn.Module) and any(p.requires_grad for p in model.decoder_.parameters())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": torch.nn.Linear(20, 4)}, r"encoder must map .*\(n, 20\) to tensors of shape \(n, 3\), .*\(2, 4\)"),
        ({"encoder": torch.nn.Linear(19, 3)}, r"encoder must map .*\(n, 20\)"),
        ({"decoder": torch.nn.Linear(3, 19)}, r"decoder must map .*\(n, 3\) to tensors of shape \(n, 20\)"),
        ({"encoder": torch.nn.Linear(20, 3), "variational": True}, r"\(n, 6\).*logarithms of the variances"),
    ],
)
def test_modules_of_the_wrong_width_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X)


@pytest.mark.parametrize("wrong", ["linear", torch.nn.Linear, lambda V: V])
def test_what_is_no_module_is_refused(wrong):
    with pytest.raises(TypeError, match=r"encoder must be a torch.nn.Module or None"):
        quick(encoder=wrong).fit(X)


def test_activations_are_those_of_torch():
    H = np.linspace(-50, 50, 1001)[:, None]
    for name, activation in ACTIVATIONS.items():
        expected = getattr(torch.nn.functional, name)(torch.from_numpy(H))
        np.testing.assert_allclose(activation(H), expected, atol=1e-14)


# ---- Files and graphs


@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_files_hold_weights_and_graphs_compute_the_same(activation, variational, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = {"hidden": (16, 8), "activation": activation, "variational": variational}
    model = quick(**options, solver=Adam(max_epochs=20)).fit(X)
    path = lowdim.save(model, tmp_path / "model.safetensors") or tmp_path / "model.safetensors"
    again = lowdim.load(path)
    scores = model.transform(X)
    np.testing.assert_array_equal(again.transform(X), scores)
    np.testing.assert_array_equal(again.score(X), model.score(X))
    assert str(again) == str(model)
    for output, given in (("transform", X), ("inverse_transform", scores)):
        session = runtime.InferenceSession(lowdim.to_onnx(again, output=output).SerializeToString())
        found = session.run(None, {session.get_inputs()[0].name: given})[0]
        np.testing.assert_allclose(found, getattr(model, output)(given), atol=1e-9)


def test_a_module_of_the_user_is_not_stored(tmp_path):
    encoder, decoder = modules()
    model = quick(encoder=encoder, decoder=decoder, solver=Adam(max_epochs=20)).fit(X)
    with pytest.raises(TypeError, match=r"the parameter decoder of this AutoEncoder is a module of torch.*hidden="):
        lowdim.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())
    with pytest.raises((TypeError, ValueError), match=r"module of your own.*torch\.onnx\.export\(model\.encoder_"):
        lowdim.to_onnx(model)


# ---- Rows that are held out


def test_rows_of_zeros_are_held_out_like_others():
    rows = np.vstack([X[:300], np.zeros((300, 20))])
    counts = [quick(random_state=seed).fit(rows).n_held_out_ for seed in range(8)]
    assert np.median(counts) < 60


def test_few_different_rows_may_all_be_held_out():
    rows = np.repeat([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]], 300, axis=0)
    for seed in range(40):
        model = AutoEncoder(1, hidden=(4,), solver=QUICK, random_state=seed).fit(rows)
        assert model.reconstruction_error_ < 1e-12


def test_small_whole_numbers_have_different_digests():
    rows = np.random.default_rng(0).integers(0, 2, (20_000, 40)).astype(float)
    for dtype in ("float64", "float32"):
        digests = HeldOut(0.1, 40, 0)._digest(rows.astype(dtype))
        assert len(np.unique(digests)) == len(np.unique(rows, axis=0))
        there = HeldOut(0.1, 40, 0)._digest(torch.from_numpy(rows.astype(dtype)))
        np.testing.assert_array_equal(there, digests)


# ---- Rows and parameters far from the usual


@pytest.mark.parametrize("size", [1e20, 1e-25])
def test_squares_of_float32_rows_may_be_out_of_range(size):
    rows = (size * X).astype("float32")
    model = quick().fit(rows)
    np.testing.assert_allclose(model.reconstruction_error(rows).mean(), model.reconstruction_error_, rtol=1e-4)
    np.testing.assert_allclose(model.linear_error_ / size**2, quick().fit(X).linear_error_, rtol=1e-4)


def test_bounds_of_rows_far_away_are_finite():
    model = quick(variational=True).fit(X)
    far = model.score_samples(1e4 * X[:5])
    assert np.isfinite(far).all() and (far < model.score_samples(X[:5])).all()


def test_a_parameter_that_is_changed_after_the_fit():
    model = quick().fit(X).set_params(variational=True)
    with pytest.raises(ValueError, match="was fitted with variational=False"):
        model.score(X)


# ---- scikit-learn's checks of networks that are trained; test_base_estimators.py has those without hidden layers


CHECKED = [
    AutoEncoder(),
    AutoEncoder(1, hidden=(8, 4), activation="tanh"),
    AutoEncoder(1, hidden=(8,), activation="relu", variational=True),
    AutoEncoder(1, hidden=(8,), solver=Adam(held_out=0.0, max_epochs=5, rate=1e-2)),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore::lowdim.errors.RankWarning", "ignore::lowdim.errors.ConvergenceWarning")
def test_checks_of_scikit_learn(estimator, check):
    """No expected failures. Some checks have as few columns as components, or end after a few epochs, of which models
    warn."""
    check(estimator)
