// Elements made without markup, and numbers as people write them.

const NS = "http://www.w3.org/2000/svg";

/** An element with attributes and children; text is always text, never markup. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** The same for drawings. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat());
  return made;
}

/** Put these children in place of what an element holds. */
export const fill = (id, ...children) => document.getElementById(id).replaceChildren(...children.flat());

/** A number as people write it: 0.0865, 1,000,000, 3.2e9. */
export function shown(value, digits = 3) {
  if (value === null || value === undefined) return "none";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e7)) return String(Number(value.toPrecision(digits)));
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}e${Number(power)}`;
}

/** A promise from below with so many digits, never rounded up. */
export function atLeast(value, digits = 3) {
  if (!value) return "0";
  const scale = 10 ** (digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number((Math.floor(value * scale) / scale).toPrecision(digits)));
}

/** Names and values as a table. */
export function facts(rows) {
  return el("table", {}, el("tbody", {}, rows.map(([name, value, tone]) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: tone ?? null }, value)))));
}
