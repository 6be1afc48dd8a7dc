// Printing: all charts are drawn, in light colours and in the width of the paper, before the browser lays out pages.
"use strict";

((report) => {
  /** The width of charts on paper, in pixels: A4 less its margins, and a little. */
  const WIDTH = 660;
  let theme;

  function printable(chart) {
    return chart.div.offsetParent !== null;
  }

  report.startPrinting = () => {
    addEventListener("beforeprint", () => {
      theme = document.documentElement.dataset.theme;
      document.documentElement.dataset.theme = "light";
      for (const chart of report.allCharts().filter(printable)) {
        chart.forPrint = true;
        chart.div.style.width = `${WIDTH}px`;
        // Charts that have no drawing of WebGL yet are drawn without: there is room for only a few.
        report.show(chart, chart.webgl && !chart.stale ? undefined : false);
      }
    });
    addEventListener("afterprint", () => {
      if (theme === undefined) delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
      for (const chart of report.allCharts()) {
        chart.forPrint = false;
        chart.div.style.width = "";
        report.refresh(chart);
      }
    });
  };
})((globalThis.report ??= {}));
