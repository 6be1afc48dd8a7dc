"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load, numbers } = require("./loading.js");

const report = load("rebuilding.js", "pictures.js");
const [p, all] = [6, 4];
const values = {
  mean: Float32Array.from(numbers(p, 2)),
  scale: Float32Array.from(numbers(p, 3), (x) => x + 0.5),
  components: Float32Array.from(numbers(all * p, 4)),
  scores: Float32Array.from(numbers(2 * all, 5)),
};

test("a row is mean + scale * (scores times components)", () => {
  for (let k = 0; k <= all; k++)
    for (const r of [0, 1]) {
      const rebuilt = report.rebuilt(values, r, k);
      for (let i = 0; i < p; i++) {
        let sum = 0;
        for (let j = 0; j < k; j++) sum += values.scores[r * all + j] * values.components[j * p + i];
        assert.ok(Math.abs(rebuilt[i] - (values.mean[i] + values.scale[i] * sum)) < 1e-12);
      }
    }
});

test("the share that is rebuilt is 0 for the mean and 1 for the row itself", () => {
  const row = report.rebuilt(values, 0, all);
  assert.equal(report.keptShare(values, row, values.mean), 0);
  assert.equal(report.keptShare(values, row, row), 1);
  assert.equal(report.keptShare(values, values.mean, values.mean), 1);
});

test("orthonormal components rebuild the share of their squared scores", () => {
  const plain = { mean: new Float64Array(3), scale: null };
  const row = [3, 4, 12];
  assert.ok(Math.abs(report.keptShare(plain, row, [3, 4, 0]) - 25 / 169) < 1e-15);
});

test("pixels go from black to white, and colours stay apart", () => {
  assert.deepEqual(
    Array.from(report.greyPixels([0, 1, 2], [1, 3], 0, 2)),
    [0, 0, 0, 255, 128, 128, 128, 255, 255, 255, 255, 255],
  );
  assert.deepEqual(Array.from(report.greyPixels([0, 1, 0.2], [1, 1, 3], 0, 1)), [0, 255, 51, 255]);
});

test("differences are red where too much is rebuilt, blue where too little, and white where nothing is missing", () => {
  const pixels = Array.from(report.differencePixels([0, 1, -5], [1, 3], 1));
  assert.deepEqual(pixels, [255, 255, 255, 255, 255, 0, 0, 255, 0, 0, 255, 255]);
});
