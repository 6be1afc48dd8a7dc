"""How much memory is free."""

import sys

import pytest

from fresh_process import run_fresh
from lowdim._core import threads as _memory
from lowdim._core.threads import free_bytes, in_words, memory_bytes

MACHINE = "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\n"
STAT = "anon 5000\nfile 9000\nactive_file 2000\ninactive_file 4000\n"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Files of a machine and of a control group, which say what the test writes."""

    def say(**files):
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)

    monkeypatch.setattr(_memory, "_MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "_GROUP", tmp_path)
    return say


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not say what is free")
def test_this_machine():
    assert 0 < free_bytes() <= memory_bytes()


def test_a_machine_without_control_groups(machine):
    machine(meminfo=MACHINE)
    assert free_bytes() == 8_000_000 * 1024


def test_a_group_without_a_limit(machine):
    machine(meminfo=MACHINE, memory_max="max\n", memory_current="10000\n", memory_stat=STAT)
    assert free_bytes() == 8_000_000 * 1024


def test_a_group_with_a_limit_gives_back_what_it_keeps_of_files(machine):
    machine(meminfo=MACHINE, memory_max="12000\n", memory_current="11500\n", memory_stat=STAT)
    assert free_bytes() == 500 + 6000


def test_an_unknown_system(machine):
    assert free_bytes() == memory_bytes()


def test_numbers_of_bytes_in_words():
    assert [in_words(n) for n in (5, 2**20, 3 * 2**30)] == ["5 bytes", "1.0 MiB", "3.0 GiB"]


def test_a_group_of_the_first_version(machine, tmp_path):
    (tmp_path / "memory").mkdir()
    stat = "active_file 1\ntotal_active_file 2000\ntotal_inactive_file 4000\n"
    for name, text in {"limit_in_bytes": "12000\n", "usage_in_bytes": "11500\n", "stat": stat}.items():
        (tmp_path / "memory" / f"memory.{name}").write_text(text)
    machine(meminfo=MACHINE)
    assert free_bytes() == 500 + 6000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not say what is in use")
def test_a_limit_on_the_address_space_counts():
    script = (
        "import resource; from lowdim._core.threads import free_bytes;"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); print(free_bytes())"
    )
    assert 0 < int(run_fresh(script)[0]) < 4 << 30
