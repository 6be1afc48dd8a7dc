"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load } = require("./loading.js");

const report = load("decoding.js");
const stored = (array, dtype, shape) => ({
  dtype,
  bdata: Buffer.from(array.buffer).toString("base64"),
  shape: shape ?? [array.length],
});

test("arrays of every kind come back as they were", () => {
  const kinds = { f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array };
  const unsigned = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
  for (const [dtype, Kind] of Object.entries({ ...kinds, ...unsigned })) {
    const array = Kind.from([0, 1, 100, 7]);
    assert.deepEqual(report.decode(stored(array, dtype)), array);
  }
});

test("numbers that are not finite come back", () => {
  const array = Float64Array.from([Number.NaN, Number.POSITIVE_INFINITY, -0]);
  assert.deepEqual(report.decode(stored(array, "f8")), array);
});

test("a matrix becomes its rows", () => {
  const array = Float32Array.from([1, 2, 3, 4, 5, 6]);
  const rows = report.decode(stored(array, "f4", [2, 3]));
  assert.deepEqual(
    rows.map((row) => Array.from(row)),
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
  );
});

test("an array without entries has none", () => {
  assert.equal(report.decode(stored(new Float64Array(0), "f8")).length, 0);
});

test("arrays are found at any depth, and other values stay", () => {
  const value = { a: [{ b: stored(Int32Array.of(7), "i4") }, null, "text", 1.5, true], dtype: "f4" };
  assert.deepEqual(report.decode(value), { a: [{ b: Int32Array.of(7) }, null, "text", 1.5, true], dtype: "f4" });
});
