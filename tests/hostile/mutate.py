"""Many damaged and forged files, each of which must be refused cleanly or hold what was saved.

    python tests/hostile/mutate.py --count 20000

For each file one of the following must happen, in bounded time and memory and without a warning:

- `load` raises a ValueError, MemoryError or OSError that names the file;
- `load` returns what was saved: saved again, it gives the same bytes;
- if the checksum of a changed file was made right: `load` returns something that can be saved and loaded again.

No pickle may be opened. The process has a limit on its memory.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import tempfile
import time
import traceback
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from hostile.mutations import DAMAGE, FORGERY, sprung
from hostile.saved_objects import content_of, saved_objects
from lowdim import load
from lowdim.files import header

#: What loading may allocate: this many times the size of the file, and a little.
MULTIPLE, LITTLE = 4, 16 << 20
#: What the process may allocate beyond what it has at the start.
MORE_MEMORY = 512 << 20
#: Seconds after which a file counts as one that hangs.
HANGS = 60
#: After so many failures there is no need to look for more.
MOST_FAILURES = 20


class Loading:
    """One file after another, with what became of them."""

    def __init__(self, directory: Path) -> None:
        self.path, self.again = directory / "mutated", directory / "again"
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []

    def one(self, name: str, content: bytes, original: bytes) -> None:
        """Load one file, and raise an AssertionError if that is not as it must be."""
        self.path.write_bytes(content)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        value = None
        try:
            said = header(self.path)
            assert isinstance(said, dict), f"the header is {said!r}"
            value = load(self.path)
            outcome = "loaded"
        except (ValueError, MemoryError, OSError) as error:
            assert str(self.path) in str(error), f"this error does not name the file: {error!r}"
            outcome = "refused"
        used = tracemalloc.get_traced_memory()[1] - before
        faulthandler.cancel_dump_traceback_later()
        assert used <= MULTIPLE * len(content) + LITTLE, f"{used} bytes were allocated for {len(content)}"
        if outcome == "loaded":
            outcome = self._compared(value, original, forged=name in FORGERY)
        self.outcomes[name, outcome] += 1

    def _compared(self, value: object, original: bytes, forged: bool) -> str:
        content = content_of(value, self.again)
        if content == original:
            return "the same"
        assert forged, "something else was loaded than what was saved"
        self.again.write_bytes(content)
        assert content_of(load(self.again), self.again) == content, "what was loaded changes when it is saved"
        return "another"


def run(objects: dict[str, Any], count: int, seconds: float, seed: int) -> Loading:
    """Load `count` mutated files, or as many as there is time for; each kind of mutation is tried at least once."""
    random = np.random.default_rng(seed)
    mutations = {**DAMAGE, **FORGERY}
    with tempfile.TemporaryDirectory() as place:
        loading = Loading(Path(place))
        contents = {label: content_of(value, Path(place) / "saved") for label, value in objects.items()}
        tracemalloc.start()
        end = time.monotonic() + seconds
        for content in contents.values():
            loading.one("as it was", content, content)
        labels, names = list(contents), list(mutations)
        for i in range(count):
            name, label, other = names[i % len(names)], *(labels[j] for j in random.integers(0, len(labels), 2))
            content = mutations[name](random, contents[label], contents[other])
            try:
                loading.one(name, content, contents[label])
                assert not sprung().exists(), "a pickle was opened"
            except Exception:
                failed = f"{name} of {label}, number {i} of seed {seed}"
                loading.failures.append(f"{failed}:\n{traceback.format_exc()}")
                (Path(tempfile.gettempdir()) / failed.replace(" ", "_")).write_bytes(content)
                if len(loading.failures) == MOST_FAILURES:
                    break
            if i >= len(names) and time.monotonic() > end:
                break
        tracemalloc.stop()
    return loading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="take only every so-manieth model")
    given = parser.parse_args()
    # Nothing here must survive a power failure.
    os.fsync = lambda descriptor: None
    objects = saved_objects(given.every)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform.startswith("linux") else 0
    if pages:
        import resource  # Windows has none

        limit = pages * resource.getpagesize() + MORE_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loading = run(objects, given.count, given.seconds, given.seed)
    outcomes = loading.outcomes
    print(f"{sum(outcomes.values())} files of {len(objects)} objects")
    for name in dict.fromkeys(name for name, _ in outcomes):
        print(f"{name:32}", *(f"{outcomes[name, what]:6} {what}" for what in ("refused", "the same", "another")))
    if loading.failures:
        sys.exit(
            "\n".join(
                [*loading.failures, f"{len(loading.failures)} files failed; they are kept in {tempfile.gettempdir()}"]
            )
        )


if __name__ == "__main__":
    main()
