// The points of the map: which belong together, and how they are coloured, sized and described.
"use strict";

((report) => {
  /** With more levels than this, their names are on the map, too. */
  const FEW_LEVELS = 10;
  /** The largest number of characters of a name on the map, and what one takes of the width and height of the map. */
  const LONGEST = 16;
  const CHARACTER = [0.011, 0.035];
  /** Up to so many rows are all named where there is room; of more, so many that are farthest out. */
  const MOST_NAMED = 60;
  const OUTERMOST = 12;
  /** The width and height of a letter in pixels, and how far from its point a name begins. */
  const LETTER = [6.5, 14];
  const NEAR = 7;
  /** The largest number of columns that are named when the pointer is over a point. */
  const MOST_HOVERED = 6;
  const GREY = "#8c919a";
  /** How rows look that were not in the fit. */
  const BESIDE = { symbol: "diamond-open" };
  /** The symbols that Plotly has in space. */
  const SPATIAL_SYMBOLS = ["circle", "square", "diamond", "cross", "x"];

  /** The values of an axis, a colour or a size: "component:2", "column:0", or "rows" for row numbers. */
  report.mapSeries = (values, key) => {
    const [kind, i] = key.split(":");
    if (kind === "component") return { title: values.components[i].title, values: values.components[i].scores };
    if (kind === "column") return { title: values.columns[i].name, values: values.columns[i].values };
    return { title: "Row number", values: values.numbers };
  };

  /** The number of the group that a colour names, or -1 if it names something else. */
  report.mapGroup = (key) => (key.startsWith("group:") ? Number(key.slice(6)) : -1);

  /** The colour and symbol of each level of a group, and its symbol in space. No two levels share both. */
  report.levelStyles = ({ levels }) => {
    const { colors, symbols } = report.look();
    return levels.map((_, place) => {
      // After the last colour they begin again, with other symbols.
      const color = colors[place % colors.length];
      const turned = (place % colors.length) + Math.floor(place / colors.length);
      const spatial = SPATIAL_SYMBOLS[turned % SPATIAL_SYMBOLS.length];
      return { color, symbol: symbols[turned % symbols.length], spatial };
    });
  };

  /** The names of many levels at the means of their points, in the plane of two axes: notes of Plotly. Those that would
   * cover the name of a larger level are left out; the legend has them all. */
  report.levelNames = (values, state, axes, paper) => {
    const group = values.groups[report.mapGroup(state.color)];
    if (!group || group.levels.length <= FEW_LEVELS) return [];
    const sums = group.levels.map(() => [0, 0, 0]);
    group.codes.forEach((code, i) => {
      const point = axes.map((axis) => axis.values[i]);
      if (code < 0 || !point.every(Number.isFinite)) return;
      sums[code][0] += 1;
      for (const d of [0, 1]) sums[code][d + 1] += point[d];
    });
    const widths = axes.map((axis) => {
      const [low, high] = extent(
        Array.from(axis.values, (_, i) => i),
        axis.values,
      );
      return high - low || 1;
    });
    const order = group.levels.map((_, code) => code).filter((code) => sums[code][0]);
    order.sort((a, b) => sums[b][0] - sums[a][0] || a - b);
    const placed = [];
    for (const code of order) {
      const text = report.plain(group.levels[code], LONGEST);
      const [x, y] = [1, 2].map((d) => sums[code][d] / sums[code][0]);
      const [u, v, half] = [x / widths[0], y / widths[1], (CHARACTER[0] * text.length) / 2];
      const covers = (name) => Math.abs(name.u - u) < name.half + half && Math.abs(name.v - v) < CHARACTER[1];
      if (placed.some(covers)) continue;
      placed.push({ u, v, half, note: { x, y, text, showarrow: false, bgcolor: paper, opacity: 0.85, borderpad: 1 } });
    }
    return placed.map(({ note }) => note);
  };

  /** The names of rows beside their points, as a trace: of all rows if there are few, otherwise of those farthest out.
   * A name that would cover another name or another point on all sides of its own point is left out. */
  report.rowNames = (values, state, axes, plot) => {
    const at = axes.map((axis) => axis.values);
    const shown = Array.from(values.numbers, (_, i) => i).filter((i) => at.every((d) => Number.isFinite(d[i])));
    const ends = at.map((d) => extent(shown, d));
    // The place of the axes and of the legend is taken from the width and the height.
    const room = [Math.max(plot.clientWidth - (plot.clientWidth < 600 ? 60 : 200), 100), plot.clientHeight - 90];
    let scales = ends.map(([low, high], d) => room[d] / (1.1 * (high - low) || 1));
    if (state.sameScale) scales = scales.map(() => Math.min(...scales));
    const pixels = at.map((d, k) => (i) => (k ? -1 : 1) * scales[k] * d[i]);
    const [means, deviations] = momentsOf(shown, at);
    const away = (i) => at.reduce((sum, d, k) => sum + ((d[i] - means[k]) / deviations[k]) ** 2, 0);
    const order = shown.map((i) => [away(i), i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    const [left, right] = ends[0].map((end, k) => scales[0] * end + (k ? 0.05 : -0.05) * room[0]);
    const placed = [];
    for (const [, i] of shown.length <= MOST_NAMED ? order : order.slice(0, OUTERMOST)) {
      const text = report.plain(values.labels ? values.labels[i] : values.numbers[i], LONGEST);
      const [x, y] = pixels.map((pixel) => pixel(i));
      const width = LETTER[0] * Array.from(text).length;
      for (const [position, from, top] of [
        ["middle right", x + NEAR, y - LETTER[1] / 2],
        ["middle left", x - NEAR - width, y - LETTER[1] / 2],
        ["top center", x - width / 2, y - NEAR - LETTER[1]],
        ["bottom center", x - width / 2, y + NEAR],
      ]) {
        const box = [from, from + width, top, top + LETTER[1]];
        const meets = (other) => box[0] < other[1] && other[0] < box[1] && box[2] < other[3] && other[2] < box[3];
        const covers = (j) =>
          j !== i && meets([pixels[0](j) - 3, pixels[0](j) + 3, pixels[1](j) - 3, pixels[1](j) + 3]);
        if (from < left || from + width > right || placed.some((name) => meets(name.box)) || shown.some(covers))
          continue;
        placed.push({ i, text, position, box });
        break;
      }
    }
    const where = placed.map(({ i }) => i);
    return {
      type: "scatter",
      mode: "text",
      x: where.map((i) => at[0][i]),
      y: where.map((i) => at[1][i]),
      // Plotly begins a text in the middle of its point.
      text: placed.map(({ text }) => `\u00a0\u00a0${text}\u00a0\u00a0`),
      textposition: placed.map(({ position }) => position),
      textfont: { size: 11, color: report.colorsOf(plot).ink },
      hoverinfo: "skip",
      showlegend: false,
    };
  };

  /** The means and the deviations of some points along each axis. */
  function momentsOf(points, at) {
    const means = at.map((d) => points.reduce((sum, i) => sum + d[i], 0) / points.length);
    const squares = at.map((d, k) => points.reduce((sum, i) => sum + (d[i] - means[k]) ** 2, 0) / points.length);
    return [means, squares.map((square) => Math.sqrt(square) || 1)];
  }

  /** Layers of points that look alike: {name, points, marker}. */
  function layers(values, colorKey) {
    const all = Array.from(values.numbers, (_, i) => i);
    const group = report.mapGroup(colorKey);
    if (group >= 0) return levelLayers(values.groups[group], all);
    const { colors } = report.look();
    if (colorKey === "none") return [{ name: "Rows", points: all, marker: { color: colors[0] } }];
    const { title, values: series } = report.mapSeries(values, colorKey);
    const known = all.filter((i) => Number.isFinite(series[i]));
    const missing = all.filter((i) => !Number.isFinite(series[i]));
    const bar = { title: { text: report.plain(title, 24), side: "right" }, thickness: 14, len: 0.8 };
    const scale = { colorscale: "Viridis", showscale: true, colorbar: bar };
    const [cmin, cmax] = extent(known, series);
    return [
      { name: "Rows", points: known, marker: { ...scale, cmin, cmax }, series },
      { name: "missing", points: missing, marker: { color: GREY } },
    ];
  }

  function levelLayers(group, all) {
    const styles = report.levelStyles(group);
    const byLevel = group.levels.map(() => []);
    const none = [];
    for (const i of all) {
      const code = group.codes[i];
      (code < 0 ? none : byLevel[code]).push(i);
    }
    return [
      { name: "no label", points: none, marker: { color: GREY, symbol: "circle-open" } },
      ...group.levels.map((name, code) => ({ name, points: byLevel[code], marker: styles[code] })),
    ];
  }

  function extent(points, series) {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const i of points) {
      if (series[i] < low) low = series[i];
      if (series[i] > high) high = series[i];
    }
    return low <= high ? [low, high] : [0, 1];
  }

  /** The size of each point in pixels, or one size for all. */
  function sizes(values, sizeKey) {
    const n = values.numbers.length;
    if (sizeKey === "none") return n > 5000 ? 4 : n > 1000 ? 5 : n > 300 ? 6 : 8;
    const { values: series } = report.mapSeries(values, sizeKey);
    const points = Array.from(series, (_, i) => i).filter((i) => Number.isFinite(series[i]));
    const [low, high] = extent(points, series);
    const widest = n > 1000 ? 8 : 15;
    return Float32Array.from(series, (value) => {
      const share = (value - low) / (high - low || 1);
      return Number.isFinite(share) ? 3 + widest * Math.sqrt(Math.max(0, share)) : 3;
    });
  }

  /** What is shown beside the pointer over each point. */
  report.hoverTexts = (values) => {
    const columns = values.columns
      .slice(0, MOST_HOVERED)
      .map(({ name, values: series }) => [report.plain(name), series]);
    const groups = values.groups.map((group) => [report.plain(group.name), group]);
    const levels = values.groups.map((group) => group.levels.map((level) => report.plain(level)));
    return Array.from(values.numbers, (number, i) => {
      const row = `row ${number}`;
      const lines = values.labels ? [`<b>${report.plain(values.labels[i])}</b>`, row] : [`<b>${row}</b>`];
      if (values.supplementary?.[i]) lines.push("not in the fit");
      groups.forEach(([name, { codes }], g) => {
        if (codes[i] >= 0) lines.push(`${name}: ${levels[g][codes[i]]}`);
      });
      for (const [name, series] of columns) lines.push(`${name}: ${report.number(series[i])}`);
      return lines.join("<br>");
    });
  };

  const take = (series, points) => series.constructor.from(points, (i) => series[i]);

  /** The traces of the points. `axes` are two or three series. */
  report.pointTraces = (values, state, axes, hovers) => {
    const size = sizes(values, state.size);
    const spatial = axes.length === 3;
    // Many points are fainter, and above a density fainter still.
    const opacity = values.numbers.length < 3000 ? 0.85 : state.density && !spatial ? 0.3 : 0.65;
    const traces = [];
    layers(values, state.color).forEach((layer, place) => {
      const inFit = layer.points.filter((i) => !values.supplementary?.[i]);
      const beside = layer.points.filter((i) => values.supplementary?.[i]);
      for (const [points, extra] of [
        [inFit, {}],
        [beside, BESIDE],
      ]) {
        if (points.length === 0) continue;
        const { spatial: inSpace, ...look } = layer.marker;
        const marker = { opacity, ...look, ...(spatial && inSpace ? { symbol: inSpace } : {}), ...extra };
        // Plotly draws light rings around points of different sizes unless it is told not to.
        if (!marker.symbol?.endsWith("-open")) marker.line = { width: 0 };
        if (layer.series) {
          marker.color = take(layer.series, points);
          marker.showscale = points === inFit || inFit.length === 0;
        }
        marker.size = typeof size === "number" ? size : take(size, points);
        if (spatial) {
          marker.size = typeof size === "number" ? Math.max(3, size / 2) : marker.size;
        }
        traces.push({
          type: spatial ? "scatter3d" : "scattergl",
          mode: "markers",
          name: report.plain(layer.name, 24),
          legendgroup: String(place),
          showlegend: points === inFit || inFit.length === 0,
          x: take(axes[0].values, points),
          y: take(axes[1].values, points),
          ...(spatial ? { z: take(axes[2].values, points) } : {}),
          text: take(hovers, points),
          customdata: points,
          hovertemplate: "%{text}<extra></extra>",
          marker,
          ...(spatial ? {} : selection(points, state.selected, opacity)),
        });
      }
    });
    return values.supplementary?.includes(1) ? [...traces, besideInLegend(spatial)] : traces;
  };

  /** A trace without points, for the legend. */
  function besideInLegend(spatial) {
    const marker = { color: GREY, size: 8, ...BESIDE };
    const [type, nowhere] = spatial
      ? ["scatter3d", { x: [null], y: [null], z: [null] }]
      : ["scatter", { x: [null], y: [null] }];
    return { type, ...nowhere, mode: "markers", name: "not in the fit", marker, hoverinfo: "skip" };
  }

  /** Which points of a trace are selected; without a selection all look alike. */
  function selection(points, selected, opacity) {
    const faint = { selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: opacity / 5 } } };
    if (selected.size === 0) return faint;
    return {
      ...faint,
      selectedpoints: points.map((i, position) => (selected.has(i) ? position : -1)).filter((i) => i >= 0),
    };
  }

  /** Rings around the selected points, for the map in space. */
  report.selectedRings = (state, axes, ink) => {
    const points = Array.from(state.selected);
    const [x, y, z] = axes.map((axis) => take(axis.values, points));
    const marker = { symbol: "circle-open", size: points.length > 100 ? 5 : 11, color: ink, line: { width: 2 } };
    return { type: "scatter3d", mode: "markers", name: "selected", x, y, z, marker, hoverinfo: "skip" };
  };
})(globalThis.report);
