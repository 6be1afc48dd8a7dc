// The map: rows as points of any two or three components, with colours, outlines, a density and a selection.
"use strict";

((report) => {
  /** From where the map in space is seen at first: far enough for the titles of its axes. */
  const CAMERA = { eye: { x: 1.6, y: 1.6, z: 1.1 }, center: { x: 0, y: 0, z: -0.12 } };

  /** What is said of the outlines that are drawn. */
  const OUTLINES = {
    none: "",
    ellipses: "Ellipses hold 95% of a Gaussian with the mean and covariance of the group.",
    hulls: "Convex hulls hold all points of a group.",
  };

  report.widgets.map = (figure, values) => {
    const plot = figure.querySelector(".plot");
    const count = values.components.length;
    const state = {
      dimensions: "2",
      x: "component:0",
      y: count > 1 ? "component:1" : "rows",
      z: count > 2 ? "component:2" : "rows",
      color: values.groups.length ? "group:0" : "none",
      size: "none",
      outlines: "none",
      density: Boolean(values.densities),
      names: true,
      sameScale: false,
      selected: new Set(),
    };
    let hovers;
    let selecting = false;

    const chart = report.chart(
      plot,
      () => {
        hovers ??= report.hoverTexts(values);
        return state.dimensions === "3" ? spatial(values, state, hovers, plot) : flat(values, state, hovers, plot);
      },
      {
        plotly_selected: (event) => {
          if (event) select(event.points.map((point) => point.customdata).filter((i) => i !== undefined));
        },
        plotly_deselect: () => select([]),
      },
    );

    function select(points) {
      // Some versions of Plotly tell of a selection again while the map is drawn with it.
      if (selecting) return;
      selecting = true;
      state.selected = new Set(points);
      list.show(state.selected);
      report.say(points.length ? `${report.count(state.selected.size, "row")} selected.` : "No row is selected.");
      report.refresh(chart);
      selecting = false;
    }

    const change = (name) => (value) => {
      state[name] = value;
      if (name === "dimensions") fitControls();
      if (name === "outlines") outlined.textContent = OUTLINES[value];
      report.refresh(chart);
    };
    const list = report.selectionList(values, () => select([]));
    const outlined = report.element("p", { class: "note" });
    const menus = controlsOf(values, state, change);
    figure.querySelector(".controls").append(...Object.values(menus).map((control) => control.element));
    figure.querySelector(".beside").append(outlined, ...remarks(values), finder(values, select), list.element);

    /** Controls that do nothing in the chosen kind of map are switched off. */
    function fitControls() {
      const space = state.dimensions === "3";
      menus.z.element.hidden = !space;
      for (const name of ["outlines", "density", "names", "sameScale"])
        if (menus[name]) menus[name].input.disabled = space;
    }
    fitControls();
  };

  function controlsOf(values, state, change) {
    const components = values.components.map(({ title }, i) => [`component:${i}`, title]);
    const columns = values.columns.map(({ name }, i) => [`column:${i}`, name]);
    const groups = values.groups.map(({ name }, i) => [`group:${i}`, name]);
    const axes = [
      ["Components", components],
      ["Columns", columns],
      ["rows", "Row number"],
    ];
    const series = [
      ["none", "Nothing"],
      ["Columns", columns],
      ["Components", components],
    ];
    const colors = [["none", "Nothing"], ["Groups", groups], ...series.slice(1)];
    const kinds = [
      ["2", "2-D"],
      ["3", "3-D"],
    ];
    const outlines = [
      ["none", "None"],
      ["ellipses", "Ellipses (95%)"],
      ["hulls", "Convex hulls"],
    ];
    const menus = {
      dimensions: report.select("Map", kinds, state.dimensions, change("dimensions")),
      x: report.select("Across", axes, state.x, change("x")),
      y: report.select("Up", axes, state.y, change("y")),
      z: report.select("Depth", axes, state.z, change("z")),
      color: report.select("Colour by", colors, state.color, change("color")),
      size: report.select("Size by", series, state.size, change("size")),
    };
    if (groups.length) menus.outlines = report.select("Outlines", outlines, state.outlines, change("outlines"));
    menus.density = report.checkbox("Density", state.density, change("density"));
    menus.names = report.checkbox("Names", state.names, change("names"));
    menus.sameScale = report.checkbox("Same scale on both axes", state.sameScale, change("sameScale"));
    menus.dimensions.input.disabled = !report.hasWebgl() || values.components.length < 2;
    return menus;
  }

  function remarks(values) {
    const texts = [values.note];
    if (!report.hasWebgl()) texts.push("This browser has no WebGL, so the map cannot be turned in space.");
    if (values.numbers.length > report.mostAsSvg && !report.hasPointWebgl())
      texts.push(`Without WebGL, ${report.mostAsSvg} of the points are drawn.`);
    return texts.filter(Boolean).map((text) => report.element("p", { class: "note" }, report.visible(text)));
  }

  /** The way to select rows by keyboard. */
  function finder(values, select) {
    const hint = values.labels ? "a name, or 3, 10-12" : "3, 10-12";
    const { element, input } = report.field("Select rows by number, name or group", hint);
    const form = report.element(
      "form",
      { class: "find" },
      element,
      report.element("button", { type: "submit" }, "Select"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      select(report.findRows(values, input.value));
    });
    return form;
  }

  const titled = (axis, more = {}) => ({ title: { text: report.plain(axis.title) }, ...more });

  /** The legend says what its groups are groups of. A colour bar stands on the right, and the legend then lies above the
   * map. */
  function legend(values, { color }) {
    const group = values.groups[report.mapGroup(color)];
    const title = group ? { title: { text: report.plain(group.name) } } : {};
    const above = color !== "none" && !group;
    return { itemsizing: "constant", ...title, ...(above ? { orientation: "h", x: 0, y: 1, yanchor: "bottom" } : {}) };
  }

  function flat(values, state, hovers, plot) {
    const axes = [report.mapSeries(values, state.x), report.mapSeries(values, state.y)];
    const colors = report.colorsOf(plot);
    const below = state.density ? [report.densityTrace(values, state, axes, colors)] : [];
    const names = report.levelNames(values, state, axes, colors.paper);
    const yaxis = titled(axes[1], state.sameScale ? { scaleanchor: "x", scaleratio: 1 } : {});
    const points = report.pointTraces(values, state, axes, hovers);
    const rows = state.names && names.length === 0 ? [report.rowNames(values, state, axes, plot)] : [];
    return {
      data: [...below, ...report.outlineTraces(values, state, axes), ...points, ...rows],
      layout: {
        xaxis: titled(axes[0]),
        yaxis,
        // On a narrow page, a long legend would leave no room for the map.
        showlegend: points.length > 1 && (names.length === 0 || plot.clientWidth >= 600),
        legend: legend(values, state),
        annotations: names,
        hovermode: "closest",
        // Another pair of axes begins with the whole cloud; other colours keep what the reader has zoomed to.
        uirevision: `${state.x} ${state.y} ${state.sameScale}`,
        selectionrevision: state.selected.size,
        ...(matchMedia("(pointer: coarse)").matches ? {} : { dragmode: "select" }),
      },
    };
  }

  function spatial(values, state, hovers, plot) {
    const axes = [state.x, state.y, state.z].map((key) => report.mapSeries(values, key));
    const points = report.pointTraces(values, state, axes, hovers);
    const rings = state.selected.size ? [report.selectedRings(state, axes, report.colorsOf(plot).ink)] : [];
    const [xaxis, yaxis, zaxis] = axes.map((axis) => titled(axis));
    return {
      data: [...points, ...rings],
      layout: {
        scene: { xaxis, yaxis, zaxis, dragmode: "orbit", camera: CAMERA },
        margin: { l: 0, r: 0, t: 24, b: 0 },
        showlegend: points.length > 1,
        legend: legend(values, state),
        uirevision: `${state.x} ${state.y} ${state.z}`,
      },
    };
  }
})(globalThis.report);
