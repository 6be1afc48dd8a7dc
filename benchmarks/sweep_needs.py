"""What each task of the sweep needs at least: alternative lists of bare products (see `bare`)."""

from __future__ import annotations

from collections import Counter

#: Iterations that are granted to methods that iterate: passes of a Krylov method, steps of Newton's method or EM, steps
#: of ICA.
PASSES, STEPS, ICA_STEPS = 12, 20, 20
#: Fits that are granted to a rule that compares fits with different numbers of factors.
TRIED = 5
#: The draws of the rule "parallel".
DRAWS = 100


def add(*needs: Counter) -> Counter:
    total: Counter = Counter()
    for need in needs:
        total.update(need)
    return total


def times(count: int, need: Counter) -> Counter:
    return Counter({piece: count * value for piece, value in need.items()})


def all_eigenpairs(n: int, p: int, k: int | None = None, t: str = "X") -> Counter:
    """The smaller matrix of products, its eigenpairs, and k of them in columns (or scores)."""
    m = min(n, p)
    return Counter({("read", t): 1, ("gram", t): 1, ("eigh", m): 1, ("lift", t, m if k is None else k): 1})


def spectrum(n: int, p: int, k: int | None) -> list[Counter]:
    """Eigenpairs: all from the products, or the k leading ones also by a Krylov method."""
    ways = [all_eigenpairs(n, p, k)]
    if k is not None and k + 8 < min(n, p):
        ways.append(Counter({("read", "X"): 1, ("products", "X", k + 8): PASSES}))
    return ways


def rule(n: int, p: int, name: str) -> Counter:
    """What a rule needs beyond all eigenpairs."""
    m = min(n, p)
    if name == "parallel":
        return times(DRAWS, Counter({("eigh", m): 1, ("product", m, max(n, p) if n < p else 1, m): 1}))
    if name == "map":
        return Counter({("product", p, p, p): 1}) if p <= 1024 else Counter()
    if name == "cv":
        return add(Counter({("rows", "X"): 1}), times(5, Counter({("eigh", m): 1, ("product", m, m, m): 2})))
    return Counter()


def rules(n: int, p: int, names) -> list[Counter]:
    return [add(all_eigenpairs(n, p), *(rule(n, p, name) for name in names))]


def factors(n: int, p: int, k: int | None, fits: int = 1, folds: int = 1) -> list[Counter]:
    """Steps of Newton's method or EM: eigenpairs of the scaled covariance, or of the products of the scaled rows."""
    k = min(n, p) if k is None else k
    if n < p:
        step = Counter({("gram", "X"): 1, ("eigh", n): 1, ("lift", "X", min(k, n)): 1})
    else:
        step = Counter({("eigh", p): 1})
    steps = STEPS if fits == 1 else STEPS + 10 * fits
    return [add(Counter({("read", "X"): 1, ("gram", "X"): 1}), times(steps * folds, step))]


def whitening(n: int, p: int, k: int | None, kind: str) -> list[Counter]:
    """The eigenpairs, and a p x p matrix if there are enough rows for one."""
    square = Counter({("product", p, p, p): 1}) if n >= p and kind not in ("pca", "pca-cor") else Counter()
    return [add(way, square) for way in spectrum(n, p, k)]


def sources(n: int, p: int, k: int | None) -> list[Counter]:
    """Whitening and steps of two products of the scores and a nonlinear function of them."""
    kept = min(n, p) if k is None else k
    step = Counter({("product", kept, n, kept): 2, ("exp", n * kept): 1})
    return [add(way, times(ICA_STEPS, step)) for way in spectrum(n, p, k)]


def mapped(n: int, p: int, k: int | None) -> list[Counter]:
    """The spectrum of p + p (p + 1) / 2 polynomial features, from the smaller matrix of products."""
    f = p + p * (p + 1) // 2
    m = min(n, f)
    return [
        Counter({("write", n * f): 1, ("product", m, max(n, f), m): 1, ("eigh", m): 1, ("product", n, f, k or m): 1})
    ]


def kernel(n: int, p: int, k: int | None) -> list[Counter]:
    """The kernel matrix, and its eigenpairs or products with k + 8 vectors."""
    matrix = Counter({("product", n, p, n): 1, ("exp", n * n): 1})
    ways = [add(matrix, Counter({("eigh", n): 1}))]
    if k is not None:
        ways.append(add(matrix, Counter({("product", n, n, k + 8): PASSES})))
    return ways


def two_kernels(n: int, p: int, q: int) -> list[Counter]:
    one, other = kernel(n, p, None)[0], kernel(n, q, None)[0]
    return [add(one, other, Counter({("product", n, n, n): 1}))]


def regression(n: int, p: int, q: int, k: int | None, parts: int = 1) -> list[Counter]:
    """PLS: products with the columns for each component, or all of them once; `parts` fits to parts of the rows."""
    m = min(n, p)
    kept = m if k is None else k
    small = Counter({("product", m, m, q): kept, ("lift", "X", min(kept, m)): 1})
    ways = [add(Counter({("read", "X"): 1, ("gram", "X"): 1}), times(parts, small))]
    ways.append(add(Counter({("read", "X"): 1}), times(parts, Counter({("products", "X", q): kept}))))
    return ways


def pair(n: int, p: int, q: int, parts: int = 1, tables: tuple[str, ...] = ("X", "Y")) -> list[Counter]:
    """Two or more tables: the products of each and between them, and a decomposition of each for each part."""
    widths = {"X": p, "Y": q}
    total: Counter = Counter()
    for t in tables:
        total.update({("read", t): 1, ("gram", t): 1})
    mx, my = min(n, p), min(n, q)
    small = Counter({("eigh", min(n, widths[t])): 1 for t in tables})
    small.update({("product", mx, max(mx, my), my): 1, ("eigh", min(mx, my)): 1, ("lift", "X", min(mx, my)): 1})
    between = Counter({("product", p, n, q): 1}) if n >= p else Counter()
    return [add(total, between, times(parts, small))]


def bootstrapped(n: int, p: int, k: int, draws: int) -> list[Counter]:
    """Each draw: eigenpairs of a part of the products of rows; for tall tables, products of the rows that are drawn."""
    m = min(n, p)
    solve = Counter({("eigh", m): 1, ("lift", "X", k): 1}) if n < p else Counter({("eigh", m): 1})
    rows_are_drawn = n >= p and n * draws <= 1e7
    if rows_are_drawn:
        solve.update({("rows", "X"): 1, ("gram", "X"): 1})
    return [add(Counter({("read", "X"): 1, ("gram", "X"): 1}), times(draws, solve))]


def bootstrapped_factors(n: int, p: int, k: int, draws: int) -> list[Counter]:
    """Each draw: a fit by steps of its own, beside the products of the rows that are drawn."""
    return [add(*bootstrapped(n, p, k, draws), times(draws, factors(n, p, k)[0]))]


def permuted(n: int, p: int, shuffles: int) -> list[Counter]:
    """Each shuffle of PCA: the columns in random orders, the products of them, and their eigenvalues."""
    each = Counter({("shuffle", "X"): 1, ("gram", "X"): 1, ("eigh", min(n, p)): 1})
    return [times(shuffles + 1, each)]


def permuted_pair(n: int, p: int, q: int, shuffles: int) -> list[Counter]:
    """Each shuffle of CCA: the rows of one table in a random order, products with the other, and singular values."""
    mx, my = min(n, p), min(n, q)
    each = Counter({("rows", "Y"): 1, ("product", mx, n, my): 1, ("eigh", min(mx, my)): 1})
    return [add(pair(n, p, q)[0], times(shuffles, each))]
