"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load, numbers } = require("./loading.js");

const report = load("text.js", "map_points.js", "map_selection.js", "webgl.js");
report.look = () => ({
  colors: Array.from({ length: 10 }, (_, i) => `#${i}`),
  symbols: ["circle", "square", "x", "star", "cross"],
  few: 10,
});

const values = {
  numbers: Int32Array.of(1, 2, 5, 9),
  labels: ["alpha", "beta", "Gamma", "7"],
  groups: [{ name: "kind", levels: ["old", "new"], codes: Int32Array.of(0, 1, -1, 0) }],
  components: [{ name: "PC1", title: "PC1 (60%)", scores: Float32Array.of(1, 2, 3, 4) }],
  columns: [{ name: "x", values: Float32Array.of(5, 6, Number.NaN, 8) }],
};

test("rows are found by number, range, name, part of a name and group", () => {
  const found = (text) => report.findRows(values, text);
  assert.deepEqual(found("2"), [1]);
  assert.deepEqual(found("2-5, 9"), [1, 2, 3]);
  assert.deepEqual(found("beta"), [1]);
  assert.deepEqual(found("gam"), [2]);
  assert.deepEqual(found("OLD"), [0, 3]);
  // A name that is a number comes before the row with this number.
  assert.deepEqual(found("7"), [3]);
  assert.deepEqual(found("  "), []);
  assert.deepEqual(found("nothing"), []);
});

test("rows without names are found by number", () => {
  assert.deepEqual(report.findRows({ ...values, labels: null }, "9"), [3]);
  assert.deepEqual(report.findRows({ ...values, labels: null }, "beta"), []);
});

test("selected rows have their groups, scores and columns", () => {
  assert.deepEqual(report.selectedRows(values, [2, 3]), [
    ["row", "name", "kind", "PC1", "x"],
    [5, "Gamma", "", 3, Number.NaN],
    [9, "7", "old", 4, 8],
  ]);
});

/** A map of points and its plot, of 800 by 600 pixels. */
const cloud = (count) => {
  const [x, y] = [numbers(count, 3), numbers(count, 7)];
  const shown = { ...values, numbers: Int32Array.from(x, (_, i) => i + 1), labels: x.map((_, i) => `row ${i + 1}`) };
  return [shown, { sameScale: false }, [{ values: x }, { values: y }], { clientWidth: 800, clientHeight: 600 }];
};

test("few rows are all named where there is room, and no name covers a point or another name", () => {
  report.colorsOf = () => ({ ink: "black" });
  const [shown, state, axes, plot] = cloud(40);
  const names = report.rowNames(shown, state, axes, plot);
  assert.ok(names.x.length > 20 && new Set(names.text).size === names.text.length);
  // In pixels, of which 0.1 and more of the room are beyond the points.
  const [width, height] = [600, 510];
  const boxes = names.text.map((text, k) => {
    const [px, py] = [(names.x[k] * width) / 1.1, (-names.y[k] * height) / 1.1];
    const long = 6.5 * text.trim().length;
    const [side, where] = names.textposition[k].split(" ");
    const left = where === "right" ? px + 7 : where === "left" ? px - 7 - long : px - long / 2;
    const top = side === "middle" ? py - 7 : side === "top" ? py - 21 : py + 7;
    return [left + 1, left + long - 1, top + 1, top + 13];
  });
  const apart = (a, b) => a[1] <= b[0] || b[1] <= a[0] || a[3] <= b[2] || b[3] <= a[2];
  boxes.forEach((a, k) => {
    for (const b of boxes.slice(k + 1)) assert.ok(apart(a, b));
  });
});

test("of many rows, those farthest out are named, by their numbers if they have no names", () => {
  const [shown, state, axes, plot] = cloud(300);
  axes[0].values[17] = 9;
  const names = report.rowNames({ ...shown, labels: null }, state, axes, plot);
  assert.ok(names.x.length <= 12);
  assert.equal(names.text[0].trim(), "18");
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
