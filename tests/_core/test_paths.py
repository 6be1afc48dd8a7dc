"""Files appear under their name only when they are whole."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lowdim._core.paths import moved_when_whole

KILLED = """
import os, signal, sys
from lowdim._core.paths import moved_when_whole
with moved_when_whole(sys.argv[1]) as path:
    path.write_text("half of the n")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(directory):
    return sorted(os.listdir(directory))


def test_a_file_is_moved_when_the_block_ends(tmp_path):
    with moved_when_whole(tmp_path / "a.txt") as path:
        assert path.name == "a.txt"
        path.write_text("new")
        assert "a.txt" not in names(tmp_path)
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_directory_is_moved_when_the_block_ends(tmp_path):
    with moved_when_whole(tmp_path / "parts") as path:
        path.mkdir()
        (path / "0").write_text("new")
    assert names(tmp_path) == ["parts"]
    assert names(tmp_path / "parts") == ["0"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_after_an_error_everything_is_as_it_was(error, tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(error), moved_when_whole(tmp_path / "a.txt") as path:
        path.write_text("half of the n")
        raise error
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_what_a_link_points_to_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "a.txt")
    with moved_when_whole(tmp_path / "link") as path:
        path.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "a.txt").read_text() == "new"


def test_devices_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for special in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(OSError, match="cannot be replaced"), moved_when_whole(special):
            pytest.fail("something could be written")
    assert not Path("/dev/null").is_file()


def test_a_directory_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"), moved_when_whole(tmp_path / "nowhere" / "a.txt"):
        pytest.fail("something could be written")


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    for name in ("a.txt", "a.txt.gz", "a.txt"):
        killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)], timeout=60)
        assert killed.returncode == -signal.SIGKILL
        assert (tmp_path / "a.txt").read_text() == "old"
    assert len(names(tmp_path)) == 3  # the second process for a.txt removed what the first one left
    with moved_when_whole(tmp_path / "a.txt") as path:
        path.write_text("new")
    assert (tmp_path / "a.txt").read_text() == "new"
    (left,) = set(names(tmp_path)) - {"a.txt"}
    assert left.startswith(".a.txt.gz.") and left.endswith(".unfinished")


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    with moved_when_whole(tmp_path / "a.txt") as first:
        first.write_text("first")
        with moved_when_whole(tmp_path / "a.txt") as second:
            second.write_text("second")
        assert (tmp_path / "a.txt").read_text() == "second"
    assert (tmp_path / "a.txt").read_text() == "first"
    assert names(tmp_path) == ["a.txt"]


def test_a_long_name(tmp_path):
    name = "ä" * 120
    with moved_when_whole(tmp_path / name) as path:
        path.write_text("new")
    assert names(tmp_path) == [name]


def directory(path, content):
    path.mkdir()
    (path / "0").write_text(content)


def test_a_directory_is_replaced_by_a_directory_and_by_a_file(tmp_path):
    directory(tmp_path / "parts", "old")
    with moved_when_whole(tmp_path / "parts", over_directory=True) as path:
        directory(path, "new")
        assert (tmp_path / "parts" / "0").read_text() == "old"
    assert (tmp_path / "parts" / "0").read_text() == "new"
    with moved_when_whole(tmp_path / "parts", over_directory=True) as path:
        path.write_text("a file")
    assert (tmp_path / "parts").read_text() == "a file"
    assert names(tmp_path) == ["parts"]


@pytest.mark.parametrize("given", ["", ".", "..", "../inner", "parts", "parts/", "link"])
def test_a_directory_is_not_replaced_unless_that_is_asked_for(given, tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    directory(tmp_path / "inner" / "parts", "old")
    (tmp_path / "inner" / "link").symlink_to("parts")
    monkeypatch.chdir(tmp_path / "inner")
    with pytest.raises(IsADirectoryError, match=f"the path '{given}'"), moved_when_whole(given):
        pytest.fail("something could be written")
    assert names(tmp_path) == ["inner"] and names(tmp_path / "inner") == ["link", "parts"]
    assert (tmp_path / "inner" / "parts" / "0").read_text() == "old"


def test_a_directory_that_appears_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError), moved_when_whole(tmp_path / "parts") as path:
        path.write_text("a file")
        directory(tmp_path / "parts", "of somebody else")
    assert names(tmp_path) == ["parts"]
    assert (tmp_path / "parts" / "0").read_text() == "of somebody else"


def test_between_the_two_steps_of_replacing_a_directory_an_error_undoes_the_first(tmp_path, monkeypatch):
    directory(tmp_path / "parts", "old")
    rename = os.rename

    def fail_at_the_second(old, new):
        if Path(old).name == Path(new).name:
            raise PermissionError("moved away")
        rename(old, new)

    monkeypatch.setattr(os, "rename", fail_at_the_second)
    replacing = moved_when_whole(tmp_path / "parts", over_directory=True)
    with pytest.raises(PermissionError, match="moved away"), replacing as path:
        directory(path, "new")
    assert names(tmp_path) == ["parts"]
    assert (tmp_path / "parts" / "0").read_text() == "old"


def test_after_a_kill_between_the_two_steps_the_next_call_undoes_the_first(tmp_path):
    """What such a process leaves: the old directory lies in the temporary one."""
    left = tmp_path / ".parts.abc.unfinished"
    directory(left, "new")
    directory(left / ".replaced", "old")
    with pytest.raises(ValueError, match="bad rows"), moved_when_whole(tmp_path / "parts"):
        assert (tmp_path / "parts" / "0").read_text() == "old"
        raise ValueError("bad rows")
    assert names(tmp_path) == ["parts"]
    assert (tmp_path / "parts" / "0").read_text() == "old"
