// Values that are stored in the page: JSON in which arrays of numbers are base64.
"use strict";

((report) => {
  const KINDS = {
    f4: Float32Array,
    f8: Float64Array,
    i1: Int8Array,
    i2: Int16Array,
    i4: Int32Array,
    u1: Uint8Array,
    u2: Uint16Array,
    u4: Uint32Array,
  };

  /** The array of {dtype, bdata, shape}; a matrix becomes an array of its rows. */
  function array({ dtype, bdata, shape }) {
    const text = atob(bdata);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return rows(new KINDS[dtype](bytes.buffer), shape);
  }

  function rows(flat, [length, ...inner]) {
    if (inner.length === 0) return flat;
    const step = inner.reduce((product, side) => product * side, 1);
    return Array.from({ length }, (_, i) => rows(flat.subarray(i * step, (i + 1) * step), inner));
  }

  /** The value with typed arrays in place of their stored form, at any depth. */
  report.decode = (value) => {
    if (Array.isArray(value)) return value.map(report.decode);
    if (value === null || typeof value !== "object") return value;
    if (typeof value.bdata === "string" && value.dtype in KINDS) return array(value);
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, report.decode(entry)]));
  };

  /** The values that the page stores under a name. */
  report.stored = (name) => report.decode(JSON.parse(document.getElementById(name).textContent));
})(globalThis.report);
