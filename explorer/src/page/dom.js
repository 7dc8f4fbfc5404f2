// Elements: made from names, attributes and text. Nothing here reads markup, so nothing a user types can become any.

const MAX_COORDINATE = 1e6;
const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An HTML element; children are elements or text. */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith("aria-")) element.setAttribute(key, String(value));
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

export function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value);
  }
}

export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** M x y L x y ... with a tenth of a pixel. */
export function pathOf(points, close = false) {
  let text = "";
  for (let i = 0; i < points.length; i++) {
    text += `${i ? "L" : "M"}${round(points[i][0])} ${round(points[i][1])}`;
  }
  return close && text ? `${text}Z` : text;
}

/** A coordinate that a path can hold, however far off. */
const round = (x) => Math.round(Math.min(Math.max(x, -MAX_COORDINATE), MAX_COORDINATE) * 10) / 10;

/** A number for people: four significant digits, no lone minus zero. */
export function short(value, digits = 4) {
  if (!Number.isFinite(value)) return "";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)) + 0);
}

/** Calls `change` with the element's width, now and whenever it changes. */
export function watchWidth(element, change) {
  let last = 0;
  const look = () => {
    const width = Math.floor(element.clientWidth);
    if (width > 40 && width !== last) change((last = width));
  };
  new ResizeObserver(look).observe(element);
  look();
}
