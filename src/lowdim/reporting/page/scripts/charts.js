// Charts: drawn when they come near the part of the page that is seen, and again when their look changes.
"use strict";

((report) => {
  /** Browsers keep about 16 drawings of WebGL, and a chart of Plotly needs two. */
  const MOST_WEBGL = 5;
  const charts = new Map();
  let look;
  let clock = 0;

  const observer =
    globalThis.IntersectionObserver &&
    new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          const chart = charts.get(entry.target);
          chart.near = entry.isIntersecting;
          if (chart.near && (chart.stale || chart.width !== chart.div.clientWidth)) show(chart);
        }
      },
      { rootMargin: "400px" },
    );

  /** The colours and symbols of categories. */
  report.look = () => {
    look ??= report.stored("look");
    return look;
  };

  /**
   * A chart in an element. `make` returns its figure, {data, layout}, whenever it is drawn; `handlers` are functions
   * for the events of Plotly.
   */
  report.chart = (div, make, handlers = {}) => {
    const chart = { div, make, handlers, near: false, stale: true, webgl: false, width: 0, seen: 0, forPrint: false };
    charts.set(div, chart);
    observer.observe(div);
    return chart;
  };

  report.allCharts = () => Array.from(charts.values());

  /** Draws a chart again: at once if it is near the part of the page that is seen, otherwise when it comes there. */
  report.refresh = (chart) => {
    chart.stale = true;
    if (chart.near) show(chart);
  };

  report.refreshAll = () => charts.forEach(report.refresh);

  /** Draws a chart now. Points are drawn as SVG if `asSvg`, or if the browser has no WebGL. */
  function show(chart, asSvg = false) {
    const { div } = chart;
    const { data, layout: given } = chart.make();
    const layout = arranged(chart, given);
    const way = report.wayToDraw(data);
    chart.stale = false;
    chart.seen = ++clock;
    chart.width = div.clientWidth;
    if (way === "not") {
      remark(chart, "This chart can be turned in space, for which this browser lacks WebGL.");
      return;
    }
    chart.webgl = way === "webgl" && (!asSvg || report.isSpatial(data));
    if (chart.webgl) makeRoom(chart);
    const isNew = !div.classList.contains("js-plotly-plot");
    Plotly.react(div, chart.webgl ? data : report.asSvg(data), complete(chart, layout), config(div));
    if (isNew) for (const [name, handler] of Object.entries(chart.handlers)) div.on(name, handler);
  }

  report.show = show;

  function remark(chart, text) {
    chart.div.replaceChildren(report.element("p", { class: "remark" }, text));
    chart.div.style.height = "auto";
  }

  /** The layout of a chart; of parts that stand side by side, one below the other where there is no room beside them. */
  function arranged(chart, layout) {
    if (!layout?.grid) return layout;
    const { rows, columns, ...grid } = layout.grid;
    const stacked = report.isNarrow(chart.div);
    chart.height ??= chart.div.clientHeight;
    chart.div.style.height = `${stacked ? (chart.height * columns) / 1.5 : chart.height}px`;
    return stacked ? { ...layout, grid: { ...grid, rows: columns, columns: rows } } : layout;
  }

  function complete(chart, layout = {}) {
    const size = chart.forPrint ? { width: chart.div.clientWidth, height: chart.div.clientHeight } : { autosize: true };
    const whole = structuredClone(layout);
    return { uirevision: "kept", ...whole, ...size, template: report.template(chart.div, report.look().colors) };
  }

  /** Removes the drawing of the WebGL chart that was seen longest ago, if there are too many. */
  function makeRoom(chart) {
    const others = report.allCharts().filter((other) => other.webgl && other !== chart && !other.near && !other.stale);
    if (others.length < MOST_WEBGL) return;
    const oldest = others.reduce((a, b) => (a.seen < b.seen ? a : b));
    Plotly.purge(oldest.div);
    oldest.stale = true;
    oldest.webgl = false;
  }

  function config(div) {
    return {
      responsive: true,
      displaylogo: false,
      // The toolbar has its place above the chart, where a narrow one has its legend.
      ...(report.isNarrow(div) ? { displayModeBar: false } : {}),
      plotlyServerURL: "",
      // Plotly would draw four times as many pixels as the screen has.
      plotGlPixelRatio: devicePixelRatio,
      // Nothing leaves the page, so there is no button that sends a chart away.
      modeBarButtonsToRemove: [
        "sendChartToCloud",
        "sendDataToCloud",
        "autoScale2d",
        "zoomIn2d",
        "zoomOut2d",
        "hoverClosest3d",
        "resetCameraLastSave3d",
      ],
      modeBarButtonsToAdd: [
        {
          name: "Download as SVG",
          title: "Download as SVG",
          icon: Plotly.Icons.disk,
          click: (gd) => Plotly.downloadImage(gd, { ...imageOptions(div), format: "svg" }),
        },
      ],
      toImageButtonOptions: { ...imageOptions(div), format: "png", scale: 2 },
    };
  }

  function imageOptions(div) {
    return { filename: div.id.replace(/^plot-/, "") };
  }

  report.startCharts = () => {
    for (const div of document.querySelectorAll("[data-chart]")) {
      const figure = () => {
        const { data, layout } = report.stored(`values-${div.dataset.chart}`);
        return { data, layout };
      };
      report.chart(div, figure);
    }
  };
})(globalThis.report);
