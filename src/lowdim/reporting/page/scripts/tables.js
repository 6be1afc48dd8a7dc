// Tables of the page: the rows that are not shown at first, and copies as CSV.
"use strict";

((report) => {
  /** The cells of a table, with whole numbers of digits where the table shows fewer. */
  report.cellsOf = (table) =>
    Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.dataset.exact ?? cell.textContent));

  /** Copies rows as CSV and says so in an element. */
  report.copyRows = async (rows, status) => {
    const copied = await report.copy(report.csv(rows));
    status.textContent = copied ? `Copied ${report.count(rows.length - 1, "row")}.` : "The browser did not allow it.";
  };

  function prepare(listing) {
    const table = listing.querySelector("table");
    const status = listing.querySelector(".copied");
    listing.querySelector(".copy").addEventListener("click", () => report.copyRows(report.cellsOf(table), status));
    const more = listing.querySelector(".show-more");
    more?.addEventListener("click", () => {
      const open = table.querySelector(".more").classList.toggle("open");
      more.setAttribute("aria-expanded", open);
      more.textContent = open ? `Show the first ${more.dataset.first} rows` : `Show all ${more.dataset.all} rows`;
    });
  }

  report.startTables = () => document.querySelectorAll(".listing").forEach(prepare);
})(globalThis.report);
