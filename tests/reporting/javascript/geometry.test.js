"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load, numbers } = require("./loading.js");

const report = load("geometry.js");
const cross = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);

function cloud(count, seed) {
  const drawn = numbers(2 * count, seed);
  return Array.from({ length: count }, (_, i) => [drawn[2 * i], drawn[2 * i + 1]]);
}

test("a hull is convex, its corners are points, and no point is outside", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const points = cloud(40, seed);
    const hull = report.hull(points);
    for (const [i, a] of hull.entries()) {
      const b = hull[(i + 1) % hull.length];
      assert.ok(points.some((point) => point[0] === a[0] && point[1] === a[1]));
      assert.ok(cross(a, b, hull[(i + 2) % hull.length]) > 0);
      for (const point of points) assert.ok(cross(a, b, point) >= 0);
    }
  }
});

test("points of a line, repeated points and missing ones", () => {
  assert.deepEqual(
    report.hull([
      [0, 0],
      [1, 1],
      [2, 2],
    ]),
    [
      [0, 0],
      [2, 2],
    ],
  );
  const square = [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
  ];
  assert.deepEqual(report.hull([...square, ...square, [0.5, 0.5], [Number.NaN, 9]]), square);
  assert.deepEqual(report.hull([[3, 4]]), [[3, 4]]);
  assert.deepEqual(report.hull([]), []);
});

test("an ellipse keeps its distance, measured by the inverse of the covariance", () => {
  const [xx, xy, yy] = [4, 1.5, 2];
  const determinant = xx * yy - xy * xy;
  for (const [x, y] of report.ellipse([1, -2], [xx, xy, yy], 2.5)) {
    const [u, v] = [x - 1, y + 2];
    const squared = (yy * u * u - 2 * xy * u * v + xx * v * v) / determinant;
    assert.ok(Math.abs(squared - 2.5 ** 2) < 1e-12);
  }
});

test("an ellipse without variance in a direction is a line", () => {
  for (const [x, y] of report.ellipse([0, 0], [0, 0, 9], 1)) {
    assert.equal(x, 0);
    assert.ok(Math.abs(y) <= 3);
  }
});

test("every point is counted once, in the cell where it lies", () => {
  const points = cloud(300, 5);
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const { x, y, counts } = report.binned(xs, ys, 7);
  const total = counts.reduce((sum, row) => sum + row.reduce((part, value) => part + value, 0), 0);
  assert.equal(total, 300);
  const half = (x[1] - x[0]) / 2;
  const tall = (y[1] - y[0]) / 2;
  counts.forEach((row, j) => {
    row.forEach((count, i) => {
      const inside = points.filter(
        ([a, b]) => Math.abs(a - x[i]) <= half * 1.001 && Math.abs(b - y[j]) <= tall * 1.001,
      );
      assert.equal(count, inside.length);
    });
  });
});

test("points that all lie in one place are counted", () => {
  const { counts } = report.binned([2, 2], [3, 3], 4);
  assert.equal(
    counts.flatMap((row) => Array.from(row)).reduce((sum, count) => sum + count),
    2,
  );
});
