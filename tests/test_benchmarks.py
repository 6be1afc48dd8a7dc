"""The rows of the benchmarks and the sweep can be built, run on tiny tables, and have the right answers there."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest

from benchmarks import (
    against_columns,
    against_rows,
    file_tables,
    front,
    limited_memory,
    page,
    results,
    scale,
    sweep,
    sweep_cases,
)
from benchmarks.__main__ import BY_NAME, CASES, COMMAND, GROUPS, table_of
from benchmarks.bare import Bare, words
from benchmarks.engines import CASES as ENGINES
from benchmarks.files import CASES as FILES
from benchmarks.harness import Measurement
from benchmarks.odd import CASES as ODD
from benchmarks.sparse_tables import CASES as SPARSE
from benchmarks.wide import CASES as WIDE
from benchmarks.wide_factors import CASES as WIDE_FACTORS
from benchmarks.worker import run_limited
from examples import OF_NUMBERS

ROWS = {case.name: case for case in [*WIDE, *WIDE_FACTORS, *SPARSE, *ODD]}
#: Tiny tables for some of the rows, of every kind.
TINY = {
    "wide-cv-pls": (40, 60),
    "wide-cv-pca": (40, 60),
    "wide-pca-cv": (30, 50),
    "wide-bootstrap": (12, 20),
    "wide-zca": (3, 40),
    "permutations": (60, 5),
    "factors-5x500": (60, 6),
    "texts": (30, 300),
    "sparse-pls-tall": (2_000, 50),
    "sparse-cca-wide": (50, 2_000),
    "missing-90": (100, 6),
    "ica-gaussian": (400, 3),
    "one-row-blocks": (40, 6),
}


@pytest.mark.parametrize("name", list(TINY))
@pytest.mark.filterwarnings("ignore")
def test_rows_of_the_benchmark_agree_with_their_oracles(name):
    case = ROWS[name]
    k = min(case.k, *TINY[name])
    data = case.make(TINY[name])
    exact = case.exact(data, k)
    ours = case.contenders[0]
    error = case.error(ours.values(ours.setup(data, k)()), exact)
    assert error != "" if isinstance(error, str) else error < 1e-6


def test_every_row_has_a_name_of_its_own_and_lowdim_comes_first():
    assert len(BY_NAME) == len(CASES)
    assert set(ROWS) <= set(BY_NAME)
    assert not set(GROUPS) & set(BY_NAME)
    assert all(case.contenders[0].name.startswith("lowdim") for case in CASES)


# ---- Results, and the tables that are written from them


@pytest.mark.parametrize("group", list(GROUPS))
def test_tables_of_the_page_are_those_of_the_results(group):
    text = table_of(group, results.Results())
    assert page.replaced(group, COMMAND.format(group=group), text) == page.README.read_text()


def test_the_table_of_the_front_page_is_that_of_the_results():
    text = page.replaced("peers", front.COMMAND, front.table(results.Results(), BY_NAME), front.README)
    assert text == front.README.read_text()


def test_the_front_page_leaves_out_no_case_with_another_library():
    kept = results.Results()
    baselines = ("lowdim", "bare", "numpy, ", "pyarrow, ", "means of ", "biases of ")
    others = {
        name: [m.contender for m in kept.measurements(name) if not m.contender.startswith(baselines)]
        for name in kept.cases
    }
    shown = [name for names in front.TASKS.values() for name in names.split()]
    assert len(shown) == len(set(shown)) and set(shown) == {name for name, found in others.items() if found}
    assert all(front.library_of(contender) for found in others.values() for contender in found)


def test_results_can_be_kept_and_replaced(tmp_path):
    file = tmp_path / "results.json"
    stopped = Measurement("other", math.nan, math.nan, None, None, 8, "> 60 s")
    kept, run = results.Results(file), results.this_run(5)
    kept.store("tall", [Measurement("lowdim", 2.0, 1.0, 1e-9, 1 << 20, 8), stopped], run | {"date": "2000-01-01"})
    kept.store("wide", [Measurement("lowdim", 1.0, 1.0, "fine", None, 8)], run)
    kept.store("tall", [Measurement("lowdim", 3.0, 1.0, 1e-9, 1 << 20, 8), stopped], run)
    kept.store("wide", [], run, keep=False)
    again = results.Results(file)
    first, second = again.measurements("tall")
    assert first.seconds == 3.0 and math.isnan(second.seconds) and second.stopped == "> 60 s"
    assert again.measurements("wide")[0].error == "fine" and "small" not in again
    assert len(again.runs) == 1 and len(again.settings(["tall", "wide"])) == 1
    assert page.table([BY_NAME["tall"]], again).splitlines()[-1] == "|  | other | > 60 s |  |  |  |  |"


# ---- Files


@pytest.fixture
def few_files(tmp_path, monkeypatch):
    """Tables are made in a temporary directory, with few rows in each file."""
    monkeypatch.setenv("LOWDIM_BENCH_FILES", str(tmp_path))
    monkeypatch.setattr(file_tables, "_ROWS", 100)


@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
def test_cases_of_files(case, few_files):
    data = case.make((1_750, 16))
    exact = case.exact(data, 5)
    for contender in case.contenders:
        result = contender.setup(data, 5)()
        if contender.values is not None:
            # IncrementalPCA is an approximation.
            allowed = 0.2 if "Incremental" in contender.name else 1e-9
            assert case.error(contender.values(result), exact) < allowed, contender.name
    rows = np.concatenate(list(file_tables.blocks((1_750, 16))))
    np.testing.assert_allclose(data.cov, np.cov(rows.T), rtol=1e-5)


@pytest.mark.parametrize("name", ["PCA", "FactorAnalysis", "PLSRegression", "CCA"])
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_fits_with_limited_memory_have_the_right_answers(name, few_files, monkeypatch):
    data = file_tables.table("parquet", (1_750, 16))
    monkeypatch.setattr(limited_memory, "HALF", 8)
    assert limited_memory.error(name, limited_memory.fit(name, data), data) < 1e-6


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_time_against_rows(monkeypatch):
    monkeypatch.setattr(against_rows, "BLOCK", 1_000)
    found = against_rows.measure([100, 250], 1, say=lambda text: None)
    assert set(found) == set(against_rows.TASKS)
    assert all(len(times) == 2 for times in found.values())
    assert sum(len(block) for block in against_rows.stream(2_500, np.zeros((3_000, 2)))()) == 2_500
    assert against_rows.slope({10**6: 1.0, 10**7: 10.0, 10**8: 100.0}) == pytest.approx(1.0)
    assert "100,000" in against_rows.table({"PCA": {10**5: 0.1}}, [10**5])


# ---- Engines


@pytest.mark.parametrize("case", [case for case in ENGINES if case.name == "engine-dask-threads"], ids=lambda c: c.name)
def test_cases_of_engines(case):
    """Those that need no further process."""
    pytest.importorskip("dask", reason="Dask is not installed")
    data = case.make((600, 16))
    exact = case.exact(data, 5)
    for contender in case.contenders[:2]:
        assert case.error(contender.values(contender.setup(data, 5)()), exact) < 1e-9, contender.name


def test_the_simulation_of_a_pass():
    """Against what can be counted: one worker does everything, very many wait for the longest chain."""
    free = scale.Costs(row=1.0, merge=0.0, task=0.0, summary_bytes=0, graph=0.0, graph_bytes=0)
    assert scale.simulated(1, 5.0, 3, free) == 5.0
    chain = scale.LATENCY
    for partitions, merges, levels in [(8, 1, 1), (9, 3, 2), (64, 9, 2), (65, 12, 3)]:
        assert scale.simulated(partitions, 5.0, 1, free) == pytest.approx(5.0 * partitions + merges * chain)
        assert scale.simulated(partitions, 5.0, 100, free) == pytest.approx(5.0 + levels * chain)
    busy = dataclasses.replace(free, task=1.0)
    # With workers enough, the scheduler is the limit: it starts all tasks, one after another.
    assert scale.simulated(64, 0.5, 1_000, busy) >= 64 + 9
    times = [scale.simulated(200, 5.0, w, busy) for w in (1, 2, 5, 50)]
    assert times == sorted(times, reverse=True)
    text = scale.pass_table(busy, [(10**6, 1 << 20)], [1, 2])
    assert "10^6 | 1,954 of 1 MiB" in text
    assert "| 16,384 | 0 bytes | 0 bytes | 1 ms | 2 MiB |" in scale.width_table(busy)


# ---- Workers


def spin():
    while True:
        pass


def refuse():
    raise ValueError("n=1 is too few.")


def exhaust():
    return np.ones(1 << 34)


@pytest.mark.parametrize(
    ("prepare", "stopped", "error", "refused"),
    [
        (spin, "preparation > 1 s", "", False),
        (lambda: refuse, "", "ValueError: n=1 is too few.", True),
        (lambda: exhaust, "", "MemoryError: Unable to allocate", False),
    ],
)
def test_worker_reports_what_stopped_a_call(prepare, stopped, error, refused):
    outcome = run_limited(prepare, limit=1, memory=1 << 30)
    assert outcome.seconds is None
    assert outcome.stopped == stopped
    assert outcome.error.startswith(error) and bool(outcome.error) == bool(error)
    assert outcome.refused == refused


def test_worker_measures_memory_and_sends_what_was_looked_at():
    outcome = run_limited(lambda: lambda: np.ones(4 << 20), lambda ones: float(ones.sum()))
    assert outcome.value == 4 << 20
    assert outcome.seconds > 0
    assert 32 << 20 <= outcome.extra_bytes < 40 << 20


# ---- The sweep


def test_every_model_is_swept():
    assert set(sweep_cases.MODELS) == set(OF_NUMBERS)


@pytest.mark.parametrize("shape", [(12, 40), (60, 8), (1, 30), (40, 1)], ids=str)
@pytest.mark.parametrize("density", [None, 0.3])
def test_every_case_has_needs_that_can_be_timed(shape, density):
    bare = Bare(sweep_cases.make_tables(*shape, density))
    names = set()
    for case in sweep_cases.cases(*shape):
        seconds, need = bare.least(case.needs)
        assert 0 < seconds < math.inf and words(need)
        assert (case.model, case.task) not in names
        names.add((case.model, case.task))
    assert len(names) > 100


def test_least_takes_the_faster_way():
    bare = Bare({"X": np.ones((5, 5))})
    bare._known = {("read", "X"): 2.0, ("gram", "X"): 3.0}
    assert bare.least([Counter({("read", "X"): 2}), Counter({("gram", "X"): 1})])[0] == 3.0


def test_large_pieces_are_extrapolated():
    bare = Bare({})
    assert bare.seconds(Counter({("eigh", 10**6): 1})) > 1_000
    assert bare.seconds(Counter({("product", 1, 10**12, 1): 1, ("exp", 10**12): 1, ("write", 10**12): 1})) > 0


def test_sweep_prints_its_table_and_lists(capsys):
    with pytest.raises(SystemExit):
        sweep.main(["--quick", "--models", "PCA", "--tasks", "fit, 1", "--shapes", "1 x 10,000", "20 x 500"])
    text = capsys.readouterr().out
    assert "| dense 20 x 500 | PCA | fit, 1 |" in text and "| sparse 20 x 500 | PCA | fit, 1 |" in text
    assert " of 4 cases\n" in text.split("## Listed: ")[1]
    assert "too few for a covariance" in text.split("## Refusals: 2 cases")[1]


@pytest.mark.parametrize(
    ("seconds", "stopped", "bare", "extra", "verdict"),
    [
        (0.04, "", 1e-6, 0, ""),
        (0.06, "", 1e-6, 0, "too slow"),
        (2.1, "", 0.1, 0, "too slow"),
        (1.9, "", 0.1, 63 << 20, ""),
        (1.9, "", 0.1, 70 << 20, "too much memory"),
        (None, "> 20 s", 0.9, None, "too slow"),
        (None, "> 20 s", 1.1, None, "stopped"),
        (None, "preparation > 20 s", 0.1, None, "stopped"),
        (None, "ended by signal 9", 0.1, None, "failed"),
    ],
)
def test_verdicts(seconds, stopped, bare, extra, verdict):
    case = sweep_cases.Case("PCA", "fit", lambda tables: None, [])
    outcome = sweep.Outcome(seconds, extra, None if extra is None else 0, stopped=stopped)
    assert sweep.Row("dense", case, outcome, bare, "", 1 << 20, 0).verdict == verdict


def test_bytes_of_a_result_are_counted_once():
    X = np.ones((10, 10))
    assert sweep.held_bytes({"a": X, "b": [X, X.T, X[:2]]}) == X.nbytes


# ---- Time against the number of columns


def test_slope_is_that_of_the_last_factor_of_ten():
    times = {100: 5.0, 1_000: 1e-3, 3_000: 9e-3, 10_000: 1e-1}
    assert against_columns.slope(times) == pytest.approx(2.0)
    assert against_columns.slope({100: 1.0}) is None


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_every_task_runs_on_few_columns():
    X, second = against_columns.make(12)
    assert [task.call(X, second) is not None for task in against_columns.tasks()] == [True] * 12


def test_table_against_columns_has_times_and_reasons(monkeypatch):
    tasks = [task for task in against_columns.tasks() if task.work == "fit"][:1]
    tasks.append(against_columns.Task("PCA", "refused", lambda X, second: refuse()))
    monkeypatch.setattr(against_columns, "tasks", lambda: iter(tasks))
    found, ended = against_columns.measure([20, 30], limit=20, repeats=1, say=lambda text: None)
    assert found[tasks[0]].keys() == {20, 30} and not found[tasks[1]]
    assert ended == {tasks[1]: "D = 20: ValueError: n=1 is too few."}
    assert against_columns.table(found, ended, [20, 30]).splitlines()[-1].endswith("n=1 is too few. |")
