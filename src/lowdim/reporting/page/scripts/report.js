// The object to which all scripts of the page add their functions.
"use strict";

globalThis.report = {
  /** The functions that start widgets, by their kinds. */
  widgets: {},
};
