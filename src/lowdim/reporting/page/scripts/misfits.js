// Rows that do not fit: both distances of each row with their limits, and the columns responsible for a chosen row.
"use strict";

((report) => {
  const KINDS = ["Within both limits", "Beyond the limit of T²", "Beyond the limit of Q", "Beyond both limits"];
  const NAMES = ["T² (how far out within the components)", "Q (how far from the components)"];

  /** How far beyond its limits a row is: the larger of the two ratios; above 1 it is beyond one of them. */
  report.misfit = ({ t2, q, t2_limit: t2Limit, q_limit: qLimit }, i) =>
    Math.max(t2Limit > 0 ? t2[i] / t2Limit : 0, qLimit > 0 ? q[i] / qLimit : 0);

  report.widgets.misfits = (figure, values) => {
    const name = (i) => (values.labels ? values.labels[i] : `row ${values.numbers[i]}`);
    const explained = new Map(values.explained.map((entry) => [entry.point, entry]));
    const beyond = Array.from(values.t2, (_, i) => i).filter((i) => report.misfit(values, i) > 1);
    const ranked = beyond.sort((a, b) => report.misfit(values, b) - report.misfit(values, a)).slice(0, 200);
    const offered = [...ranked, ...Array.from(explained.keys()).filter((i) => !ranked.includes(i))];
    const state = { logarithmic: false, chosen: offered.length ? offered[0] : -1 };

    const chart = report.chart(figure.querySelector(".plot"), () => scatter(values, state, name), {
      plotly_click: ({ points }) => {
        const point = points.find(({ customdata }) => customdata !== undefined);
        if (point) choose(point.customdata);
      },
    });
    const sentence = report.element("p", { role: "status" });
    const bars = report.element("div", { class: "bars" });
    const options = offered.map((i) => [String(i), `${name(i)} (${report.number(report.misfit(values, i))} × limit)`]);
    const all = [["-1", "None"], ...options];
    const menu = report.select("Row, the farthest first", all, state.chosen, (i) => choose(Number(i)), "broad");
    const scale = report.checkbox("Logarithmic axes", false, (ticked) => {
      state.logarithmic = ticked;
      report.refresh(chart);
    });
    figure.querySelector(".controls").append(menu.element, scale.element);
    figure.querySelector(".beside").append(sentence, bars);
    const parts = ["t2", "q"].map((distance) => barsOf(bars, figure.dataset.key, state, explained, distance));

    function choose(i) {
      state.chosen = i;
      menu.input.value = offered.includes(i) ? String(i) : "-1";
      explain();
      report.refresh(chart);
      parts.forEach(report.refresh);
    }

    function explain() {
      const i = state.chosen;
      bars.hidden = !explained.has(i);
      if (i < 0) sentence.textContent = "Choose a row to see which columns set it apart.";
      else {
        const what = `${report.visible(report.shortened(name(i), 60))}: T² is ${report.number(values.t2[i])}, Q is ${report.number(values.q[i])}.`;
        const which = explained.has(i)
          ? " The bars show the columns that contribute most."
          : " The columns responsible are kept only for the rows that fit worst.";
        sentence.textContent = what + which;
      }
    }
    explain();
  };

  function scatter(values, state, name) {
    const { t2, q, t2_limit: t2Limit, q_limit: qLimit } = values;
    const { colors, symbols } = report.look();
    const points = KINDS.map(() => []);
    t2.forEach((distance, i) => {
      points[(distance > t2Limit ? 1 : 0) + (q[i] > qLimit ? 2 : 0)].push(i);
    });
    const traces = KINDS.map((kind, k) => ({
      type: "scattergl",
      mode: "markers",
      name: kind,
      x: points[k].map((i) => t2[i]),
      y: points[k].map((i) => q[i]),
      text: points[k].map((i) => `<b>${report.plain(name(i))}</b><br>row ${values.numbers[i]}`),
      customdata: points[k],
      hovertemplate: "%{text}<br>T² %{x:.4g}, Q %{y:.4g}<extra></extra>",
      marker: { color: colors[k], symbol: symbols[k], size: k === 0 ? 5 : 8, opacity: k === 0 ? 0.6 : 0.9 },
    })).filter((trace) => trace.x.length);
    if (state.chosen >= 0)
      traces.push({
        type: "scatter",
        mode: "markers",
        name: "chosen row",
        x: [t2[state.chosen]],
        y: [q[state.chosen]],
        hoverinfo: "skip",
        showlegend: false,
        marker: { symbol: "circle-open", size: 18, color: colors[7], line: { width: 3 } },
      });
    const type = state.logarithmic ? "log" : "linear";
    const line = (axis, at) => ({
      type: "line",
      [`${axis}0`]: at,
      [`${axis}1`]: at,
      [`${axis === "x" ? "y" : "x"}0`]: 0,
      [`${axis === "x" ? "y" : "x"}1`]: 1,
      [`${axis === "x" ? "y" : "x"}ref`]: "paper",
      line: { dash: "dash", width: 1.5, color: colors[7] },
    });
    const shapes = [t2Limit > 0 ? line("x", t2Limit) : null, qLimit > 0 ? line("y", qLimit) : null].filter(Boolean);
    const range = state.logarithmic ? {} : { rangemode: "tozero" };
    return {
      data: traces,
      layout: {
        xaxis: { title: { text: NAMES[0] }, type, ...range },
        yaxis: { title: { text: NAMES[1] }, type, ...range },
        shapes,
        hovermode: "closest",
        legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemsizing: "constant" },
        uirevision: type,
      },
    };
  }

  /** The bars of the columns that are responsible for one of the distances of the chosen row. */
  function barsOf(parent, key, state, explained, distance) {
    const title = distance === "t2" ? "T²" : "Q";
    const label = `The columns that contribute most to ${title} of the chosen row`;
    const div = report.element("div", {
      class: "plot",
      role: "group",
      "aria-label": label,
      id: `plot-${key}-${distance}`,
    });
    div.style.height = "340px";
    const heading = report.element("p", { class: "heading" }, `Contributions to ${title}`);
    parent.append(report.element("div", {}, heading, div));
    return report.chart(div, () => {
      const shares = (explained.get(state.chosen)?.[distance] ?? []).slice(0, 15).reverse();
      const { colors } = report.look();
      return {
        data: [
          {
            type: "bar",
            orientation: "h",
            x: shares.map(([, share]) => share),
            // Names may be shortened to the same text, so bars are placed by number.
            y: shares.map((_, i) => i),
            text: shares.map(([column]) => report.plain(column)),
            textposition: "none",
            hovertemplate: "%{text}: %{x:.4g}<extra></extra>",
            marker: { color: distance === "t2" ? colors[0] : colors[1] },
          },
        ],
        layout: {
          xaxis: { zeroline: true },
          yaxis: {
            tickvals: shares.map((_, i) => i),
            ticktext: shares.map(([column]) => report.plain(column, 22)),
          },
          uirevision: `${state.chosen}`,
        },
      };
    });
  }
})(globalThis.report);
