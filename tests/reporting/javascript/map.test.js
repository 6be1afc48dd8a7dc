"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load } = require("./loading.js");

const report = load("text.js", "map_points.js", "map_selection.js", "webgl.js");
report.look = () => ({ colors: ["#1", "#2", "#3"], symbols: ["circle", "square", "x", "star", "cross"], few: 10 });

const values = {
  numbers: Int32Array.of(1, 2, 5, 9),
  ids: ["alpha", "beta", "Gamma", "7"],
  groups: [{ name: "kind", levels: ["old", "new"], codes: Int32Array.of(0, 1, -1, 0) }],
  components: [{ name: "PC1", title: "PC1 (60%)", scores: Float32Array.of(1, 2, 3, 4) }],
  columns: [{ name: "x", values: Float32Array.of(5, 6, Number.NaN, 8) }],
};

test("rows are found by number, range, id, part of an id and group", () => {
  const found = (text) => report.findRows(values, text);
  assert.deepEqual(found("2"), [1]);
  assert.deepEqual(found("2-5, 9"), [1, 2, 3]);
  assert.deepEqual(found("beta"), [1]);
  assert.deepEqual(found("gam"), [2]);
  assert.deepEqual(found("OLD"), [0, 3]);
  // An id that is a number comes before the row with this number.
  assert.deepEqual(found("7"), [3]);
  assert.deepEqual(found("  "), []);
  assert.deepEqual(found("nothing"), []);
});

test("rows without ids are found by number", () => {
  assert.deepEqual(report.findRows({ ...values, ids: null }, "9"), [3]);
  assert.deepEqual(report.findRows({ ...values, ids: null }, "beta"), []);
});

test("selected rows have their groups, scores and columns", () => {
  assert.deepEqual(report.selectedRows(values, [2, 3]), [
    ["row", "id", "kind", "PC1", "x"],
    [5, "Gamma", "", 3, Number.NaN],
    [9, "7", "old", 4, 8],
  ]);
});

test("levels that share a colour differ in their symbols, and rare ones are drawn together", () => {
  const levels = Array.from({ length: 14 }, (_, i) => `level ${i}`);
  const codes = levels.flatMap((_, i) => new Array(20 - i).fill(i));
  const styles = report.levelStyles({ levels, codes });
  assert.deepEqual(
    styles.map((style) => style === null),
    levels.map((_, i) => i >= 12),
  );
  const looks = styles.filter(Boolean).map(({ color, symbol }) => color + symbol);
  assert.equal(new Set(looks).size, looks.length);
});

test("many points are drawn by WebGL if its numbers reach that far", () => {
  report.hasPointWebgl = () => true;
  const drawn = (scale) => {
    const x = Float64Array.from({ length: 20 }, (_, i) => i * scale);
    return report.wayToDraw([{ type: "scattergl", x, y: x }]);
  };
  assert.deepEqual([0, 1, 1e150, 1e-150].map(drawn), ["webgl", "webgl", "svg", "svg"]);
});

test("without WebGL, points are thinned evenly, together with their selection", () => {
  const x = Float64Array.from({ length: 7000 }, (_, i) => i);
  const trace = { type: "scattergl", x, y: x, marker: { size: x, color: "red" }, selectedpoints: [0, 1, 3, 6] };
  const [thin] = report.asSvg([trace]);
  assert.equal(thin.type, "scatter");
  assert.ok(thin.x.length <= report.mostAsSvg && thin.x.length > report.mostAsSvg / 2);
  assert.deepEqual(thin.marker.size, thin.x);
  assert.equal(thin.marker.color, "red");
  // Every third point is left, so points 0, 3 and 6 are now 0, 1 and 2.
  assert.deepEqual(thin.selectedpoints, [0, 1, 2]);
});
