// Elements of the page: native controls with labels, tables, and what is said to a reader who does not see them.
"use strict";

((report) => {
  let made = 0;

  /** An element with attributes and content. Text is set as text, never as HTML. */
  report.element = (tag, attributes = {}, ...content) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...content);
    return element;
  };

  function labelled(input, label, kind = "") {
    input.id = `control-${++made}`;
    const name = report.element("label", { for: input.id }, label);
    const parts = kind === "check" ? [input, name] : [name, input];
    return report.element("div", { class: `control ${kind}` }, ...parts);
  }

  /** A menu with a label. Options are [value, text], or [heading, [options]] for a group of them. */
  report.select = (label, options, chosen, onChange, kind = "") => {
    const input = report.element("select");
    for (const [value, text] of options) {
      if (Array.isArray(text)) {
        const group = report.element("optgroup", { label: value });
        group.append(...text.map(option));
        if (text.length) input.append(group);
      } else input.append(option([value, text]));
    }
    input.value = chosen;
    input.addEventListener("change", () => onChange(input.value));
    return { element: labelled(input, label, kind), input };
  };

  function option([value, text]) {
    return report.element("option", { value }, report.shortened(report.visible(text), 60));
  }

  /** A box that is ticked or not, with a label. */
  report.checkbox = (label, ticked, onChange) => {
    const input = report.element("input", { type: "checkbox" });
    input.checked = ticked;
    input.addEventListener("change", () => onChange(input.checked));
    return { element: labelled(input, label, "check"), input };
  };

  /** A slider over whole numbers, with a label. */
  report.slider = (label, low, high, value, onChange) => {
    const input = report.element("input", { type: "range", min: low, max: high, step: 1, value });
    input.addEventListener("input", () => onChange(Number(input.value)));
    return { element: labelled(input, label, "wide"), input };
  };

  /** A field for text, with a label. */
  report.field = (label, hint) => {
    const input = report.element("input", {
      type: "text",
      placeholder: hint,
      autocomplete: "off",
      spellcheck: "false",
    });
    return { element: labelled(input, label), input };
  };

  report.button = (text, onClick) => {
    const button = report.element("button", { type: "button" }, text);
    button.addEventListener("click", onClick);
    return button;
  };

  /** Tells a screen reader what has changed. */
  report.say = (text) => {
    document.getElementById("said").textContent = text;
  };

  /** Copies text; resolves to whether that was allowed. */
  report.copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Pages that are opened from a disk may not have the clipboard; the older way needs a selected field.
      const field = report.element("textarea", { class: "unseen", "aria-hidden": "true" }, text);
      document.body.append(field);
      field.select();
      const copied = document.execCommand("copy");
      field.remove();
      return copied;
    }
  };
})(globalThis.report);
