"""The way of rows to a device: pieces in page-locked memory, tried with streams that need no device."""

from __future__ import annotations

import pickle
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest

from inputs import namespace
from lowdim import PCA, PPCA
from lowdim._core import devices as _devices
from lowdim._core.arrays import Beside
from lowdim._core.devices import (
    PinnedSender,
    Sender,
    find_destination,
    in_main_memory,
    moved_to_device,
    moved_to_host,
    name_of_device,
    sender_to,
)
from lowdim.summaries import Moments

strict = pytest.importorskip("array_api_strict")
RNG = np.random.default_rng(0)


class Event:
    """It occurs a little later than it is recorded, and then the piece is on the device."""

    def __init__(self, rows, piece):
        self._rows, self._piece, self._lock = rows, piece, threading.Lock()

    def synchronize(self):
        with self._lock:
            if self._rows is not None:
                time.sleep(0.0005)
                self._rows[...] = namespace("torch").from_numpy(self._piece)
                self._rows = None


class Streams:
    """What a device does, as late as it may: a piece is fetched only when somebody waits for it."""

    made: list[int] = []

    def __init__(self, like):
        self.finished, self.events, self.asked = False, [], []

    def page_locked(self, n_bytes):
        self.made.append(n_bytes)
        return np.empty(n_bytes, dtype=np.uint8)

    def empty(self, shape, dtype):
        return namespace("torch").full(shape, float("nan"), dtype=dtype)

    def copying(self):
        return nullcontext()

    def send(self, rows, piece):
        self.events.append(Event(rows, piece))
        return self.events[-1]

    def copied(self, piece, rows):
        self.asked.append(rows.shape)
        return False

    def hand_over(self, block, event):
        """The pieces arrive in their order, so the last one has arrived after all others."""
        for each in self.events:
            each.synchronize()
        event.synchronize()

    def finish(self):
        self.finished = True


@pytest.fixture
def sender(monkeypatch):
    """A function that makes senders with small pieces."""
    namespace("torch")
    monkeypatch.setattr(_devices, "_TorchStreams", Streams)
    monkeypatch.setattr(_devices, "_PIECE_BYTES", 256)
    monkeypatch.setattr(_devices, "_cores", lambda: 3)
    monkeypatch.setattr(Streams, "made", [])
    to = find_destination("cpu")
    senders = []

    def make(dtype=np.float64):
        senders.append(PinnedSender(to, to.dtype(dtype)))
        return senders[-1]

    yield make
    for each in senders:
        each.close()
        assert each._streams.finished


@pytest.mark.parametrize("shape", [(1, 1), (8, 4), (100, 4), (101, 3), (5, 100), (2, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_arrive_as_they_were(shape, order, sender):
    there = sender()
    blocks = [np.asarray(RNG.standard_normal(shape), order=order) for _ in range(6)]
    # Two are on their way while one is in use.
    waiting = [there.send(block) for block in blocks]
    for arrived, block in zip(waiting, blocks, strict=True):
        np.testing.assert_array_equal(arrived().numpy(), block)


def test_page_locked_memory_is_used_again(sender):
    there = sender()
    block = RNG.standard_normal((400, 4))
    for _ in range(5):
        np.testing.assert_array_equal(there.send(block)().numpy(), block)
    assert len(Streams.made) == _devices._PIECES


def test_numbers_are_converted_on_the_way(sender):
    block = RNG.integers(-9, 9, (50, 3))
    arrived = sender(np.float32).send(block)()
    assert arrived.dtype == namespace("torch").float32
    np.testing.assert_array_equal(arrived.numpy(), block)
    wide = RNG.standard_normal((50, 3)) * 1e200
    assert np.isinf(sender(np.float32).send(wide)().numpy()).any()


def test_tables_side_by_side_are_joined_on_the_way(sender):
    pieces = [RNG.standard_normal((50, 3)), RNG.standard_normal((50, 2))]
    np.testing.assert_array_equal(sender().send(Beside(pieces))().numpy(), np.concatenate(pieces, axis=1))


def test_an_error_of_a_thread_is_raised_where_the_block_is_used(sender, monkeypatch):
    def refuse(*arguments):
        raise RuntimeError("no page-locked memory")

    there = sender()
    monkeypatch.setattr(there._streams, "page_locked", refuse)
    arrived = there.send(RNG.standard_normal((10, 3)))
    with pytest.raises(RuntimeError, match="no page-locked memory"):
        arrived()


def test_devices_are_named():
    torch = namespace("torch")
    assert name_of_device(np.zeros(2)) == "the host"
    assert name_of_device(torch.zeros(2)) == "cpu"
    assert in_main_memory(np.zeros(2)) and in_main_memory(torch.zeros(2))
    strict = namespace("array_api_strict")
    assert in_main_memory(strict.zeros(2))
    assert not in_main_memory(strict.zeros(2, device=strict.Device("device1")))
    assert type(sender_to(find_destination("cpu"), torch.float32)) is Sender


# ---- Objects whose arrays are moved: small arrays travel together, and none holds another one

ROWS = np.random.default_rng(0).standard_normal((60, 5))


def summary(xp):
    found = Moments(5)
    found.update(xp.asarray(ROWS))
    return found


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_a_summary_and_back(library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    there = summary(xp)
    here = moved_to_host(there)
    for name in ("mean", "rest", "scatter"):
        assert isinstance(getattr(here, name), np.ndarray) and not isinstance(getattr(there, name), np.ndarray)
        again = getattr(moved_to_device(here, there.mean), name)
        assert type(again) is type(there.mean)
        np.testing.assert_array_equal(np.from_dlpack(again), getattr(here, name))
    np.testing.assert_allclose(here.scatter, summary(np).scatter, rtol=1e-12)


def test_dtypes_are_no_arrays():
    """Models of CuPy's arrays have NumPy's dtypes."""
    here = moved_to_host({"dtype": np.float32, "mean": strict.asarray([1.0, 2.0]), "rest": strict.asarray([3.0])})
    assert here["dtype"] is np.float32
    np.testing.assert_array_equal(here["mean"], [1.0, 2.0])
    there = moved_to_device(here, strict.asarray(1.0))
    assert there["dtype"] == strict.float32


def test_what_holds_no_array_is_the_same_object():
    class Other:
        __slots__ = ()

    for value in (Other(), {"a": 1, "b": Other()}, Moments(3)):
        assert moved_to_host(value) is value
        assert moved_to_device(value, strict.asarray(1.0)) is value


@pytest.mark.parametrize("model", [PCA(2), PPCA(2)], ids=["PCA", "PPCA"])
def test_attributes_of_a_model_do_not_hold_each_other(model):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rows = torch.asarray(np.random.default_rng(1).standard_normal((400, 200)).astype(np.float32))
    model.fit(rows)
    for name, value in vars(model).items():
        if isinstance(value, torch.Tensor) and value is not rows:
            assert len(pickle.dumps(value)) < 8 * value.numel() + 2000, name
