// Rows that are pictures, drawn on canvases.
"use strict";

((report) => {
  /** A picture with a name: {element, draw}. `shape` is [height, width], or [height, width, 3] for colours. */
  report.picture = (title, [height, width]) => {
    const canvas = report.element("canvas", { role: "img", width, height });
    const element = report.element("div", { class: "picture" }, canvas, report.element("span", {}, title));
    const draw = (pixels, alt) => {
      canvas.setAttribute("aria-label", alt);
      canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
    };
    return { element, draw };
  };

  /** The pixels (red, green, blue, opacity) of numbers between low and high: grey, or colours if there are three each. */
  report.greyPixels = (row, [, , depth = 1], low, high) => {
    const pixels = new Uint8ClampedArray((4 * row.length) / depth);
    for (let i = 0; i < pixels.length / 4; i++) {
      for (let c = 0; c < 3; c++)
        pixels[4 * i + c] = (255 * (row[i * depth + (depth === 3 ? c : 0)] - low)) / (high - low || 1);
      pixels[4 * i + 3] = 255;
    }
    return pixels;
  };

  /** The pixels of differences: white for none, red where the number is too large and blue where it is too small. */
  report.differencePixels = (row, [, , depth = 1], largest) => {
    const pixels = new Uint8ClampedArray((4 * row.length) / depth);
    for (let i = 0; i < pixels.length / 4; i++) {
      let sum = 0;
      for (let c = 0; c < depth; c++) sum += row[i * depth + c];
      const share = Math.max(-1, Math.min(1, sum / depth / (largest || 1)));
      const rest = 255 * (1 - Math.abs(share));
      pixels.set(share > 0 ? [255, rest, rest, 255] : [rest, rest, 255, 255], 4 * i);
    }
    return pixels;
  };
})(globalThis.report);
