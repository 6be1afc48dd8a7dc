"""Every model and every function of `selection` on shapes at the edges, beside the bare products that each needs.

    python -m benchmarks.sweep --quick                  # small tables, a few minutes
    python -m benchmarks.sweep                          # about an hour
    python -m benchmarks.sweep --shapes "20 x 50,000" --models PCA CCA --kinds sparse

Each case runs in a forked process of its own, on one core, with a limit of time and memory. The bare products that the
case needs at least are timed in the same run (`bare`, `sweep_needs`). At the end those cases are listed that take

- more than 20 times the bare products, and more than 50 ms, or
- more than 3 times the memory of input, answer and the largest matrix whose eigenpairs it needs, and more than 64 MiB
  beyond that,

and errors that are not refusals, such as an array that cannot be allocated. Refusals are listed by their messages,
those for want of memory first. A case that is stopped at the limit counts as too slow only if 20 times its bare
products are below the limit.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.bare import Bare, words
from benchmarks.sweep_cases import QUICK_SHAPES, SHAPES, Case, cases, make_tables
from benchmarks.worker import Outcome, run_limited

#: The limits of the list at the end.
TIMES, LEAST_SECONDS = 20, 0.05
MEMORY_TIMES, LEAST_BYTES = 3, 64 << 20


@dataclass(frozen=True)
class Row:
    """One case and what came of it."""

    shape: str
    case: Case
    outcome: Outcome
    bare: float
    need: str
    input_bytes: int
    matrix_bytes: int  # of the largest matrix whose eigenpairs the case needs

    @property
    def too_slow(self) -> bool:
        spent = self.outcome.seconds
        if self.outcome.stopped.startswith(">"):
            spent = float(self.outcome.stopped.split()[1])
        return spent is not None and spent > max(LEAST_SECONDS, TIMES * self.bare)

    @property
    def too_large(self) -> bool:
        if self.outcome.extra_bytes is None:
            return False
        used = self.input_bytes + self.outcome.extra_bytes
        return used > MEMORY_TIMES * self.held_bytes + LEAST_BYTES

    @property
    def held_bytes(self) -> int:
        return self.input_bytes + self.matrix_bytes + (self.outcome.value or 0)

    @property
    def failed(self) -> bool:
        """Whether the case ended by an error that is not a refusal, or by a signal."""
        accident = bool(self.outcome.error) and not self.outcome.refused
        return accident or self.outcome.stopped.startswith("ended")

    @property
    def verdict(self) -> str:
        found = {"too slow": self.too_slow, "too much memory": self.too_large, "failed": self.failed}
        if self.outcome.refused:
            return "refused"
        if ">" in self.outcome.stopped and not self.too_slow:
            return "stopped"
        return ", ".join(word for word, holds in found.items() if holds)

    def cells(self) -> list[str]:
        o = self.outcome
        ratio = "" if o.seconds is None else f"{o.seconds / self.bare:.1f}" if self.bare else ""
        extra = "" if o.extra_bytes is None else f"{o.extra_bytes / 2**20:.0f}"
        held = "" if o.value is None else f"{self.held_bytes / 2**20:.0f}"
        seconds = o.stopped or ("" if o.seconds is None else f"{o.seconds:.3f}")
        return [
            self.shape,
            self.case.model,
            self.case.task,
            seconds,
            f"{self.bare:.4f}",
            ratio,
            extra,
            held,
            self.verdict,
        ]


HEAD = ["table", "model", "task", "seconds", "bare", "ratio", "extra MiB", "held MiB", "verdict"]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small tables, fewer numbers of components, 5 s a case")
    parser.add_argument("--shapes", nargs="*", help=f"some of: {', '.join(SHAPES)}")
    parser.add_argument("--kinds", nargs="*", choices=["dense", "sparse"], default=["dense", "sparse"])
    parser.add_argument("--models", nargs="*", help="names of models, or choose_n_components")
    parser.add_argument("--tasks", nargs="*", help="only tasks that contain one of these words")
    parser.add_argument("--limit", type=float, help="seconds a case may take (20; 5 if quick)")
    parser.add_argument("--memory", type=float, default=6.0, help="GiB of address space a case may add (6)")
    args = parser.parse_args(arguments)
    shapes = QUICK_SHAPES if args.quick else SHAPES
    unknown = [shape for shape in args.shapes or [] if shape not in shapes]
    if unknown:
        parser.error(f"no shape {unknown[0]!r}; choose from {', '.join(repr(shape) for shape in shapes)}")
    limit = args.limit or (5.0 if args.quick else 20.0)
    rows: list[Row] = []
    print_line(HEAD)
    print_line(["---"] * 3 + ["---:"] * 5 + ["---"])
    for text in args.shapes or shapes:
        for kind in args.kinds:
            for row in sweep(text, kind, shapes[text], args, limit):
                print_line(row.cells())
                rows.append(row)
    print(summary(rows))
    sys.exit(1 if any(row.too_slow or row.too_large or row.failed for row in rows) else 0)


def sweep(text, kind, shape, args, limit):
    """The rows of one shape, dense or sparse."""
    n, p, density = shape
    tables = make_tables(n, p, density if kind == "sparse" else None)
    bare = Bare(tables)
    for case in cases(n, p, args.quick):
        if args.models and case.model not in args.models:
            continue
        if args.tasks and not any(word in case.task for word in args.tasks):
            continue
        yield measure(f"{kind} {text}", case, tables, bare, limit, int(args.memory * 2**30))


def measure(shape: str, case: Case, tables: dict[str, Any], bare: Bare, limit: float, memory: int) -> Row:
    seconds, need = bare.least(case.needs)
    outcome = run_limited(lambda: case.prepare(tables), held_bytes, limit=limit, memory=memory)
    if outcome.value is not None:
        answer = Counter({("fill", outcome.value // 8): 1})
        seconds, need = seconds + bare.seconds(answer), need + answer
    matrix = max((8 * piece[1] ** 2 for piece in need if piece[0] == "eigh"), default=0)
    return Row(shape, case, outcome, seconds, words(need), sum(map(nbytes, tables.values())), matrix)


# ---- Memory of results


def nbytes(table) -> int:
    if scipy.sparse.issparse(table):
        return sum(getattr(table, part).nbytes for part in ("data", "indices", "indptr"))
    return table.nbytes


def held_bytes(result) -> int:
    """The bytes of all arrays that a result holds, each once."""
    seen: dict[int, int] = {}
    waiting, known = [result], set()
    while waiting:
        item = waiting.pop()
        if id(item) in known:
            continue
        known.add(id(item))
        if isinstance(item, np.ndarray) or scipy.sparse.issparse(item):
            base = item
            while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
                base = base.base
            seen[id(base)] = nbytes(base)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item[:1000])
        elif hasattr(item, "__dict__"):
            waiting.extend(vars(item).values())
    return sum(seen.values())


# ---- The list at the end


def print_line(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def summary(rows: list[Row]) -> str:
    listed = [row for row in rows if row.too_slow or row.too_large or row.failed]
    lines = ["", f"## Listed: {len(listed)} of {len(rows)} cases", ""]
    if listed:
        lines += ["| " + " | ".join([*HEAD, "needs"]) + " |", "| " + " | ".join(["---"] * (len(HEAD) + 1)) + " |"]
        lines += ["| " + " | ".join([*row.cells(), row.outcome.error or row.need]) + " |" for row in listed]
    stopped = [row for row in rows if row.verdict == "stopped"]
    lines += ["", f"## Stopped at the limit, before 20 times the bare products: {len(stopped)}", ""]
    lines += [
        f"- {row.shape}, {row.case.model}, {row.case.task}: {row.outcome.stopped}, {row.bare:.1f} s for {row.need}"
        for row in stopped
    ]
    messages: dict[str, list[Row]] = {}
    for row in rows:
        if row.outcome.refused:
            messages.setdefault(row.outcome.error, []).append(row)
    lines += ["", f"## Refusals: {sum(map(len, messages.values()))} cases, {len(messages)} messages", ""]
    for message, found in sorted(messages.items(), key=lambda pair: not pair[0].startswith("MemoryError")):
        first = found[0]
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        lines.append(f"- {message} ({first.shape}, {first.case.model}, {first.case.task}{others})")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
