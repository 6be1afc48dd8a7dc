// Names and numbers as a reader sees them. Values of widgets hold text as it is in the table.
"use strict";

((report) => {
  const INVISIBLE =
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
    /[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\u2028\u2029]/g;

  /** Text on one line, in which blanks replace control characters and those that turn the direction of text. */
  report.visible = (text) => String(text).replace(INVISIBLE, " ");

  /** The text, shortened in its middle if it is long. */
  report.shortened = (text, longest) => {
    const letters = Array.from(text);
    if (letters.length <= longest) return text;
    const half = Math.floor((longest - 1) / 2);
    return `${letters.slice(0, longest - 1 - half).join("")}…${letters.slice(letters.length - half).join("")}`;
  };

  /** Text that Plotly draws as it is: without tags and entities, visible and not too long. */
  report.plain = (text, longest = 40) =>
    report.shortened(report.visible(text), longest).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  /** A number with a few digits. */
  report.number = (value) => {
    if (value === null || Number.isNaN(value)) return "missing";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
    return String(Number(value.toPrecision(size >= 1e4 ? 7 : 4)));
  };

  /** "1 row", "1,200 rows". */
  report.count = (n, noun) => `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;
})(globalThis.report);
