// Menus that choose one of several charts.
"use strict";

((report) => {
  function prepare(menu) {
    const select = menu.querySelector("select");
    const charts = menu.querySelectorAll(":scope > .chosen");
    const choose = () => {
      charts.forEach((chart, i) => {
        chart.hidden = i !== select.selectedIndex;
      });
    };
    select.addEventListener("change", choose);
    choose();
  }

  report.startMenus = () => document.querySelectorAll(".menu").forEach(prepare);
})(globalThis.report);
