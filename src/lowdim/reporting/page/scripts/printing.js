// Printing: all charts are drawn, in light colours and in the width of the paper, before the browser lays out pages.
"use strict";

((report) => {
  const root = document.documentElement;
  let theme;

  const isDisplayed = (chart) => chart.div.offsetParent !== null;

  report.startPrinting = () => {
    addEventListener("beforeprint", () => {
      theme = root.dataset.theme ?? "";
      root.dataset.theme = "light";
      root.classList.add("printing");
      for (const chart of report.allCharts().filter(isDisplayed)) {
        chart.forPrint = true;
        // Charts that have no drawing of WebGL yet are drawn without it, because browsers allow only a few.
        report.show(chart, !chart.webgl || chart.stale);
      }
    });
    addEventListener("afterprint", () => {
      root.dataset.theme = theme;
      root.classList.remove("printing");
      for (const chart of report.allCharts()) {
        chart.forPrint = false;
        report.refresh(chart);
      }
    });
  };
})(globalThis.report);
