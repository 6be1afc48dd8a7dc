"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load } = require("./loading.js");

const report = load("csv.js");

/** A small reader of CSV, to compare with. */
function parsed(text) {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const row = rows[rows.length - 1];
    if (quoted && text.startsWith('""', i)) {
      row[row.length - 1] += '"';
      i++;
    } else if (text[i] === '"') quoted = !quoted;
    else if (!quoted && text[i] === ",") row.push("");
    else if (!quoted && text.startsWith("\r\n", i)) {
      rows.push([""]);
      i++;
    } else row[row.length - 1] += text[i];
  }
  return rows.slice(0, -1);
}

test("what is written is read again", () => {
  const rows = [
    ["a", 'say "x"', "1,5", "line\nbreak", "carriage\rreturn"],
    ["", "ü 👩‍🔬", "  ", "'", '"'],
  ];
  assert.deepEqual(parsed(report.csv(rows)), rows);
});

test("numbers stay numbers, and missing ones are empty", () => {
  assert.equal(report.csv([[1.5, -2, "-3.25e-7", "+4", null, undefined, Number.NaN]]), "1.5,-2,-3.25e-7,+4,,,\r\n");
});

test("text that a spreadsheet would run gets an apostrophe", () => {
  for (const text of ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "=cmd|' /C calc'!A0"])
    assert.equal(parsed(report.csv([[text]]))[0][0], `'${text}`);
});
