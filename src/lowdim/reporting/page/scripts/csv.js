// Tables as text that spreadsheets read (CSV).
"use strict";

((report) => {
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  /** A cell: quoted if it must be, and with an apostrophe before text that a spreadsheet would run as a formula. */
  function cell(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    const text = String(value);
    const safe = /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }

  /** Rows of cells as lines of CSV. */
  report.csv = (rows) => rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
})(globalThis.report);
