// Light and dark: the button, and the look that charts take from the style sheet.
"use strict";

((report) => {
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  }

  function label(button) {
    button.textContent = isDark() ? "Light colours" : "Dark colours";
  }

  report.startTheme = () => {
    const button = document.getElementById("theme");
    button.hidden = false;
    label(button);
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      label(button);
      report.refreshAll();
    });
    prefersDark.addEventListener("change", () => {
      label(button);
      report.refreshAll();
    });
  };

  /** The colours of a chart, as the style sheet gives them to its element. */
  report.colorsOf = (div) => {
    const look = getComputedStyle(div);
    return {
      ink: look.color,
      paper: look.backgroundColor,
      grid: look.borderTopColor,
      accent: look.outlineColor,
      font: look.fontFamily,
    };
  };

  /** Whether a chart is as narrow as on a phone, where there is no room beside its titles and names. */
  report.isNarrow = (div) => div.clientWidth < 600;

  /** The template of Plotly for a chart: what its figure does not say. */
  report.template = (div, colors) => {
    const { ink, paper, grid, font } = report.colorsOf(div);
    const axis = { gridcolor: grid, linecolor: grid, zerolinecolor: grid, automargin: true, tickcolor: grid };
    const wall = { ...axis, backgroundcolor: paper, showbackground: true };
    const narrow = report.isNarrow(div);
    return {
      layout: {
        paper_bgcolor: paper,
        plot_bgcolor: paper,
        colorway: colors,
        font: { family: font, color: ink, size: narrow ? 11 : 13 },
        margin: narrow ? { l: 44, r: 12, t: 28, b: 44 } : { l: 60, r: 24, t: 52, b: 52 },
        xaxis: axis,
        yaxis: axis,
        scene: { xaxis: wall, yaxis: wall, zaxis: wall },
        hoverlabel: { bgcolor: paper, bordercolor: grid, align: "left", font: { color: ink, family: font } },
        legend: narrow ? { orientation: "h", x: 0, y: 1, yanchor: "bottom" } : {},
        modebar: { bgcolor: "rgba(0,0,0,0)", color: grid, activecolor: ink },
        // A finger that moves over a chart scrolls the page.
        dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      },
    };
  };
})(globalThis.report);
