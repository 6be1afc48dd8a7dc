// The rows that are selected in the map: how they are found by text, and the table that lists them.
"use strict";

((report) => {
  /** The largest number of selected rows that the page lists; copies have all of them. */
  const MOST_LISTED = 200;
  /** The largest number of columns of the table below the map. */
  const MOST_COLUMNS = 12;

  /** The points that a text names: row numbers such as "3, 10-12", or else names that contain it. */
  report.findRows = (values, text) => {
    const wanted = text.trim();
    if (wanted === "") return [];
    const all = Array.from(values.numbers, (_, i) => i);
    const exact = all.filter((i) => values.labels?.[i] === wanted);
    if (exact.length) return exact;
    if (/^\d+(\s*-\s*\d+)?(\s*,\s*\d+(\s*-\s*\d+)?)*$/.test(wanted)) {
      const ranges = wanted.split(",").map((part) => part.split("-").map(Number));
      return all.filter((i) =>
        ranges.some(([low, high = low]) => values.numbers[i] >= low && values.numbers[i] <= high),
      );
    }
    const lower = wanted.toLowerCase();
    const named = (i) => values.groups.some(({ levels, codes }) => levels[codes[i]]?.toLowerCase() === lower);
    return all.filter((i) => values.labels?.[i].toLowerCase().includes(lower) || named(i));
  };

  /** The selected rows as a table: a row of names, and then one for each point. */
  report.selectedRows = (values, points, mostColumns = Number.POSITIVE_INFINITY) => {
    const columns = [
      ["row", (i) => values.numbers[i]],
      ...(values.labels ? [["name", (i) => values.labels[i]]] : []),
      ...values.groups.map(({ name, levels, codes }) => [name, (i) => levels[codes[i]] ?? ""]),
      ...values.components.map(({ name, scores }) => [name, (i) => scores[i]]),
      ...values.columns.map(({ name, values: series }) => [name, (i) => series[i]]),
    ].slice(0, mostColumns);
    return [columns.map(([name]) => name), ...points.map((i) => columns.map(([, entry]) => entry(i)))];
  };

  /** Numbers are stored in single precision, of which seven digits are exact. */
  const rounded = (cell) => (typeof cell === "number" && !Number.isInteger(cell) ? Number(cell.toPrecision(7)) : cell);

  /** An element that lists the selected rows, with buttons to copy and to clear them. */
  report.selectionList = (values, onClear) => {
    const element = report.element("div", { class: "selection" });
    let points = [];
    const status = report.element("span", { class: "copied", role: "status" });
    const copy = report.button("Copy as CSV", () =>
      report.copyRows(
        report.selectedRows(values, points).map((row) => row.map(rounded)),
        status,
      ),
    );
    const clear = report.button("Clear the selection", onClear);
    const show = (selected) => {
      points = Array.from(selected).sort((a, b) => a - b);
      status.textContent = "";
      element.replaceChildren();
      if (points.length === 0) return;
      const listed = points.slice(0, MOST_LISTED);
      const [heads, ...rows] = report.selectedRows(values, listed, MOST_COLUMNS);
      const more = points.length > listed.length ? ` The first ${MOST_LISTED} are listed; a copy has all of them.` : "";
      element.append(
        report.element("p", { class: "note" }, `${report.count(points.length, "row")} selected.${more}`),
        report.element("p", { class: "tools" }, copy, " ", clear, " ", status),
        scrolling(heads, rows),
      );
    };
    return { element, show };
  };

  function scrolling(heads, rows) {
    const body = report.element("tbody");
    for (const row of rows) body.append(report.element("tr", {}, ...row.map(cell)));
    const head = report.element("tr", {}, ...heads.map((name) => named("th", name, { scope: "col" })));
    const table = report.element("table", {}, report.element("thead", {}, head), body);
    return report.element("div", { class: "scroll", role: "group", tabindex: 0, "aria-label": "Selected rows" }, table);
  }

  function cell(value, column) {
    if (typeof value === "string") return named("td", value);
    const text = column === 0 ? String(value) : report.number(value);
    return report.element("td", { class: "right" }, text);
  }

  function named(tag, text, attributes = {}) {
    const whole = report.visible(text);
    return report.element(tag, { ...attributes, ...(whole.length > 24 ? { title: whole } : {}) }, whole);
  }
})(globalThis.report);
