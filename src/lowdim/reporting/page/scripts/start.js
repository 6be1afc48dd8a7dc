// Starts the page.
"use strict";

((report) => {
  const narrow = matchMedia("(max-width: 60rem)");

  /** The table of contents: closed at first where it is above the content, and marking the section that is read. */
  function startContents() {
    const contents = document.querySelector(".contents details");
    const fit = () => {
      contents.open = !narrow.matches;
    };
    fit();
    narrow.addEventListener("change", fit);
    contents.addEventListener("click", (event) => {
      if (event.target.closest("a") && narrow.matches) contents.open = false;
    });
    const links = new Map(Array.from(contents.querySelectorAll("a"), (link) => [link.hash.slice(1), link]));
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) links.get(target.id)?.setAttribute("aria-current", "true");
          else links.get(target.id)?.removeAttribute("aria-current");
        }
      },
      { rootMargin: "-30% 0px -69% 0px" },
    );
    for (const section of document.querySelectorAll("main > section[id]")) observer.observe(section);
  }

  function startWidgets() {
    for (const figure of document.querySelectorAll("[data-widget]"))
      report.widgets[figure.dataset.widget](figure, report.stored(`values-${figure.dataset.key}`));
  }

  document.documentElement.classList.add("scripted");
  report.startTheme();
  report.startTables();
  report.startMenus();
  report.startCharts();
  startWidgets();
  report.startPrinting();
  startContents();
})(globalThis.report);
