"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load } = require("./loading.js");

const report = load("text.js");

test("Plotly gets no tags, no entities and no control characters", () => {
  assert.equal(report.plain("<b>&amp;</b>\0\u202e"), "&lt;b&gt;&amp;amp;&lt;/b&gt;  ");
});

test("long text is shortened in its middle, and characters stay whole", () => {
  const text = report.plain("👩".repeat(100), 11);
  assert.equal(text, `${"👩".repeat(5)}…${"👩".repeat(5)}`);
  assert.equal(report.plain("short", 11), "short");
});

test("numbers keep four digits", () => {
  for (const value of [0, 2.34567891, -0.0123456, 123456.789, 1e-9, 2.5e12]) {
    const shown = Number(report.number(value));
    assert.ok(Math.abs(shown - value) <= 0.005 * Math.abs(value));
    assert.ok(report.number(value).length <= 9);
  }
  assert.equal(report.number(Number.NaN), "missing");
  assert.equal(report.number(0), "0");
});

test("counts have plurals", () => {
  assert.equal(report.count(1, "row"), "1 row");
  assert.equal(report.count(1200, "row"), "1,200 rows");
  assert.equal(report.count(0, "row"), "0 rows");
});
