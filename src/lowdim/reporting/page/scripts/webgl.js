// Charts with and without WebGL, of which browsers allow only a few at a time.
"use strict";

((report) => {
  /** The largest number of points that are drawn as SVG where there is no WebGL. */
  report.mostAsSvg = 3000;
  const SPATIAL = new Set(["scatter3d", "surface", "mesh3d"]);

  let available;

  /** Whether the browser draws with WebGL. */
  report.hasWebgl = () => {
    if (available === undefined) {
      const context = document.createElement("canvas").getContext("webgl");
      available = context !== null;
      context?.getExtension("WEBGL_lose_context")?.loseContext();
    }
    return available;
  };

  let compiles;

  /** Whether many points can be drawn with WebGL, for which Plotly compiles text. */
  report.hasPointWebgl = () => {
    if (compiles === undefined) {
      try {
        new Function("");
        compiles = report.hasWebgl();
      } catch {
        compiles = false;
      }
    }
    return compiles;
  };

  report.isSpatial = (data) => data.some((trace) => SPATIAL.has(trace.type));

  /** How a figure is drawn: "svg" or "webgl", or "not" if the browser cannot draw it. */
  report.wayToDraw = (data) => {
    if (report.isSpatial(data)) return report.hasWebgl() ? "webgl" : "not";
    const many = pointsOf(data) > report.look().few;
    return many && report.hasPointWebgl() && withinReach(data) ? "webgl" : "svg";
  };

  /** Whether points can be placed with WebGL, whose numbers have single precision. */
  function withinReach(data) {
    return data.every(({ type, x, y }) => type !== "scattergl" || [x, y].every((series) => isModest(series ?? [])));
  }

  function isModest(series) {
    let most = 0;
    for (const value of series) most = Math.max(most, Math.abs(value) || 0);
    return most === 0 || (most > 1e-30 && most < 1e30);
  }

  function pointsOf(data) {
    return data.reduce((sum, trace) => sum + (trace.type === "scattergl" ? (trace.x ?? trace.y).length : 0), 0);
  }

  /** The traces with SVG in place of WebGL, thinned evenly where there are too many points for it. */
  report.asSvg = (data) => {
    const step = Math.ceil(pointsOf(data) / report.mostAsSvg) || 1;
    return data.map((trace) => (trace.type === "scattergl" ? { ...thinned(trace, step), type: "scatter" } : trace));
  };

  function thinned(trace, step) {
    if (step === 1) return trace;
    const n = (trace.x ?? trace.y).length;
    const every = (value) => {
      if ((Array.isArray(value) || ArrayBuffer.isView(value)) && value.length === n)
        return Array.from(value).filter((_, i) => i % step === 0);
      return value;
    };
    const thin = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, every(value)]));
    const selected = trace.selectedpoints?.filter((i) => i % step === 0).map((i) => i / step);
    const marker = trace.marker ? { marker: thin(trace.marker) } : {};
    return { ...thin(trace), ...marker, ...(selected ? { selectedpoints: selected } : {}) };
  }
})(globalThis.report);
