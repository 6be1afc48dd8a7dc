// Typesets the formulas of a page, which are TeX until then.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".math.notranslate")) {
    const displayMode = element.classList.contains("display");
    window.katex.render(element.textContent, element, { displayMode, throwOnError: false });
  }
});
