// What is drawn below the points of the map: outlines of groups, and the density of all rows.
"use strict";

((report) => {
  /** The number of the component of an axis, or -1 for another kind of axis. */
  function component(key) {
    return key.startsWith("component:") ? Number(key.slice(10)) : -1;
  }

  /** Outlines of the levels of the group that colours the points, or of the first group. */
  report.outlineTraces = (values, state, axes) => {
    if (state.outlines === "none" || values.groups.length === 0) return [];
    const group = values.groups[Math.max(0, report.mapGroup(state.color))];
    const outline = state.outlines === "hulls" ? hulls(group, axes) : ellipses(values, group, state);
    const traces = [];
    report.levelStyles(group).forEach((style, level) => {
      const corners = outline(level);
      if (corners.length < 3) return;
      traces.push({
        type: "scatter",
        mode: "lines",
        name: report.plain(group.levels[level], 24),
        x: corners.map(([x]) => x),
        y: corners.map(([, y]) => y),
        line: { color: style.color, width: 2 },
        fill: "toself",
        fillcolor: `${style.color}1a`,
        hoverinfo: "skip",
        showlegend: false,
      });
    });
    return traces;
  };

  function hulls({ codes }, [{ values: xs }, { values: ys }]) {
    return (level) => {
      const points = [];
      codes.forEach((code, i) => {
        if (code === level) points.push([xs[i], ys[i]]);
      });
      const corners = report.hull(points);
      return corners.length ? [...corners, corners[0]] : [];
    };
  }

  function ellipses({ components, radius }, group, state) {
    const [i, j] = [component(state.x), component(state.y)];
    const k = components.length;
    return (level) => {
      const cloud = group.ellipses?.[level];
      if (!cloud || i < 0 || j < 0 || i === j) return [];
      const { mean, covariance } = cloud;
      const part = [covariance[i * k + i], covariance[i * k + j], covariance[j * k + j]];
      return report.ellipse([mean[i], mean[j]], part, radius);
    };
  }

  /** The density of all rows over two components, or of the points that are shown if that is not stored. */
  report.densityTrace = (values, state, axes, { paper, accent }) => {
    const cloud = storedDensity(values, component(state.x), component(state.y)) ?? shownDensity(axes);
    // Square roots let the thin parts of the cloud be seen beside the thick ones.
    const z = cloud.counts.map((row) => Array.from(row, Math.sqrt));
    return {
      type: "heatmap",
      x: cloud.x,
      y: cloud.y,
      z,
      zsmooth: "best",
      colorscale: [
        [0, paper],
        [1, accent],
      ],
      opacity: 0.75,
      showscale: false,
      hoverinfo: "skip",
    };
  };

  function shownDensity([x, y]) {
    // About as many points as cells, in grids that are neither coarse nor fine.
    return report.binned(x.values, y.values, Math.max(8, Math.min(50, Math.round(Math.sqrt(x.values.length)))));
  }

  function storedDensity({ densities }, i, j) {
    const direct = densities?.find(({ x, y }) => x === i && y === j);
    if (direct) return { x: centres(direct.x_edges), y: centres(direct.y_edges), counts: matrix(direct) };
    const turned = densities?.find(({ x, y }) => x === j && y === i);
    if (!turned) return undefined;
    const rows = matrix(turned);
    const counts = Array.from(rows[0], (_, column) => rows.map((row) => row[column]));
    return { x: centres(turned.y_edges), y: centres(turned.x_edges), counts };
  }

  function centres(edges) {
    return Array.from({ length: edges.length - 1 }, (_, i) => (edges[i] + edges[i + 1]) / 2);
  }

  function matrix({ counts, x_edges: edges }) {
    const width = edges.length - 1;
    return Array.from({ length: counts.length / width }, (_, i) => counts.subarray(i * width, (i + 1) * width));
  }
})(globalThis.report);
