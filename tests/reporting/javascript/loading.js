// Loads scripts of the page as a browser does: one after the other, into one global object.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const folder = path.join(__dirname, "../../../src/lowdim/reporting/page/scripts");

/** The object `report` with the functions of these scripts. */
exports.load = (...names) => {
  for (const name of ["report.js", ...names]) {
    vm.runInThisContext(fs.readFileSync(path.join(folder, name), "utf8"), { filename: name });
  }
  return globalThis.report;
};

/** Numbers that look random and are the same in every run. */
exports.numbers = (count, seed = 1) => {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  });
};
