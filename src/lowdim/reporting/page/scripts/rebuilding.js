// Rebuilding: a row beside what the first K components make of it.
"use strict";

((report) => {
  /** Row r rebuilt from k components: mean + scale * sum over j < k of score_j component_j. */
  report.rebuilt = ({ mean, scale, components, scores }, r, k) => {
    const p = mean.length;
    const all = components.length / p;
    const sum = new Float64Array(p);
    for (let j = 0; j < k; j++) {
      const score = scores[r * all + j];
      for (let i = 0; i < p; i++) sum[i] += score * components[j * p + i];
    }
    return sum.map((value, i) => mean[i] + (scale ? scale[i] : 1) * value);
  };

  /** The share of the squared distance of a row from the mean, in units of `scale`, that is rebuilt. */
  report.keptShare = ({ mean, scale }, row, rebuilt) => {
    let [left, whole] = [0, 0];
    row.forEach((value, i) => {
      const unit = scale?.[i] || 1;
      left += ((value - rebuilt[i]) / unit) ** 2;
      whole += ((value - mean[i]) / unit) ** 2;
    });
    return whole > 0 ? 1 - left / whole : 1;
  };

  report.widgets.rebuilding = (figure, values) => {
    const p = values.mean.length;
    const most = values.components.length / p;
    const state = { row: 0, k: Math.min(most, Math.max(1, Math.round(most / 4))) };
    const plot = figure.querySelector(".plot");
    const show = values.shape ? pictures(plot, values) : columns(plot, values);
    const sentence = report.element("p", { role: "status" });

    const rows = report.select(
      "Row",
      values.labels.map((id, i) => [String(i), id]),
      "0",
      (i) => {
        state.row = Number(i);
        update();
      },
      "broad",
    );
    const slider = report.slider("Number of components", 0, most, state.k, (k) => {
      state.k = k;
      update();
    });
    figure.querySelector(".controls").append(rows.element, slider.element);
    plot.after(sentence);

    function update() {
      const row = values.rows.subarray(state.row * p, (state.row + 1) * p);
      const rebuilt = report.rebuilt(values, state.row, state.k);
      const share = report.keptShare(values, row, rebuilt);
      const name = report.visible(report.shortened(values.labels[state.row], 60));
      const text = `${state.k} of ${report.count(most, "component")}`;
      slider.input.setAttribute("aria-valuetext", text);
      sentence.textContent = `With ${text}, ${(100 * share).toFixed(1)}% of the variation of ${name} around the mean is rebuilt.`;
      show(row, rebuilt, name);
    }
    update();
  };

  function pictures(plot, values) {
    const { shape, low, high } = values;
    const [original, rebuilding, difference] = ["Original", "Rebuilt", "Rebuilt less original"].map((title) =>
      report.picture(title, shape),
    );
    plot.style.height = "auto";
    plot.append(report.element("div", { class: "pictures" }, original.element, rebuilding.element, difference.element));
    return (row, rebuilt, name) => {
      original.draw(report.greyPixels(row, shape, low, high), `The picture of ${name}.`);
      rebuilding.draw(report.greyPixels(rebuilt, shape, low, high), `${name}, rebuilt.`);
      const rest = rebuilt.map((value, i) => value - row[i]);
      difference.draw(report.differencePixels(rest, shape, (high - low) / 2), `What is missing of ${name}.`);
    };
  }

  function columns(plot, values) {
    let shown;
    const { mean, scale } = values;
    const standard = (value, i) => (scale ? (value - mean[i]) / (scale[i] || 1) : value);
    const names = values.columns.map((name) => report.plain(name));
    const labels = values.columns.map((name) => report.plain(name, 18));
    const places = names.map((_, i) => i);
    const many = names.length > 60;
    const chart = report.chart(plot, () => {
      const { colors } = report.look();
      const trace = (name, row, more) => ({
        type: "scatter",
        name,
        x: places,
        y: Array.from(row, standard),
        text: names,
        hovertemplate: `%{text}: %{y:.4g}<extra>${name}</extra>`,
        ...more,
      });
      return {
        data: [
          trace("Original", shown.row, {
            mode: many ? "lines" : "markers",
            marker: { color: colors[0], size: 10, symbol: "circle-open", line: { width: 2 } },
            line: { color: colors[0] },
          }),
          trace("Rebuilt", shown.rebuilt, {
            mode: many ? "lines" : "markers",
            marker: { color: colors[1], size: 8, symbol: "x" },
            line: { color: colors[1] },
          }),
        ],
        layout: {
          xaxis: many ? { title: { text: "Column" } } : { tickvals: places, ticktext: labels },
          yaxis: { title: { text: scale ? "Standard deviations from the mean" : "Value" } },
          legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" },
          hovermode: "closest",
        },
      };
    });
    return (row, rebuilt) => {
      shown = { row, rebuilt };
      report.refresh(chart);
    };
  }
})(globalThis.report);
