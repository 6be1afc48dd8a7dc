"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load } = require("./loading.js");

const report = load("text.js", "map_points.js", "map_selection.js", "webgl.js");
report.look = () => ({
  colors: Array.from({ length: 10 }, (_, i) => `#${i}`),
  symbols: ["circle", "square", "x", "star", "cross"],
  few: 10,
});

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

test("thirty levels differ in colour or symbol, in the plane and in space", () => {
  const levels = Array.from({ length: 30 }, (_, i) => `level ${i}`);
  const styles = report.levelStyles({ levels });
  for (const kind of ["symbol", "spatial"]) {
    assert.equal(new Set(styles.map((style) => style.color + style[kind])).size, 30);
  }
});

test("many levels are named at the means of their points, unless a larger one is named there", () => {
  const few = { levels: ["a", "b"], codes: [0, 1] };
  const levels = Array.from({ length: 12 }, (_, i) => `level ${i}`);
  // Two points of each level, three of the last one, which lies where level 0 does.
  const codes = [...levels.flatMap((_, i) => [i, i]), 11];
  const x = codes.map((code, i) => (code === 11 ? 0 : code) + (i % 2 ? 0.1 : -0.1));
  const axes = [{ values: x }, { values: x }];
  const named = (group, color) => report.levelNames({ groups: [group] }, { color }, axes, "white");
  assert.equal(named(few, "group:0").length, 0);
  assert.equal(named({ levels, codes }, "none").length, 0);
  const found = named({ levels, codes }, "group:0");
  assert.deepEqual(new Set(found.map(({ text }) => text)), new Set(levels.slice(1)));
  for (const { text, x: place } of found.filter(({ text }) => text !== "level 11")) {
    assert.ok(Math.abs(place - Number(text.slice(6))) < 1e-9);
  }
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
