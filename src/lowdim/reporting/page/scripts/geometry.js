// Outlines of clouds of points: convex hulls and ellipses; and counts in a grid.
"use strict";

((report) => {
  /** The corners of the convex hull of points [x, y], against the clock (Andrew's monotone chain). */
  report.hull = (points) => {
    const sorted = points
      .filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y))
      .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    if (sorted.length < 3) return sorted;
    const lower = chain(sorted);
    const upper = chain(sorted.reverse());
    return [...lower.slice(0, -1), ...upper.slice(0, -1)];
  };

  /** The part of the hull between the first and the last point, which are sorted. */
  function chain(sorted) {
    const kept = [];
    for (const point of sorted) {
      while (kept.length > 1 && turn(kept[kept.length - 2], kept[kept.length - 1], point) <= 0) kept.pop();
      kept.push(point);
    }
    return kept;
  }

  /** Positive if the way from a over b to c turns left. */
  function turn(a, b, c) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  }

  /** Points of the ellipse mean + radius L u, where L L' is the covariance [[xx, xy], [xy, yy]] and u has length 1. */
  report.ellipse = ([mx, my], [xx, xy, yy], radius, count = 72) => {
    const a = Math.sqrt(xx);
    const b = a > 0 ? xy / a : 0;
    const c = Math.sqrt(Math.max(0, yy - b * b));
    return Array.from({ length: count + 1 }, (_, i) => {
      const angle = (2 * Math.PI * i) / count;
      const [u, v] = [Math.cos(angle), Math.sin(angle)];
      return [mx + radius * a * u, my + radius * (b * u + c * v)];
    });
  };

  /** The numbers of points in the cells of a grid: {x, y: centres, counts: one array for each y}. */
  report.binned = (xs, ys, bins) => {
    const [x, y] = [grid(xs, bins), grid(ys, bins)];
    const counts = Array.from({ length: bins }, () => new Float64Array(bins));
    for (let i = 0; i < xs.length; i++) {
      const [column, row] = [x.cell(xs[i]), y.cell(ys[i])];
      if (column >= 0 && row >= 0) counts[row][column] += 1;
    }
    return { x: x.centres, y: y.centres, counts };
  };

  function grid(values, bins) {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const step = (high - low) / bins || 1;
    return {
      centres: Float64Array.from({ length: bins }, (_, i) => low + (i + 0.5) * step),
      cell: (value) => (Number.isFinite(value) ? Math.min(bins - 1, Math.floor((value - low) / step)) : -1),
    };
  }
})(globalThis.report);
