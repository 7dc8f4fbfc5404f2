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

/** A number as a fraction where it is one with a small denominator, else as a decimal. */
export function fraction(value, most = 400) {
  for (let bottom = 1; bottom <= most; bottom++) {
    const top = Math.round(value * bottom);
    if (Math.abs(top / bottom - value) < 1e-9) return bottom === 1 ? `${top}` : `${top}/${bottom}`;
  }
  return short(value);
}

/** How much larger type is than usual: pictures grow with it. */
const zoom = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

/** Calls `change` with the element's width in picture units, now and whenever it changes. */
export function watchWidth(element, change) {
  let last = 0;
  const look = () => {
    const width = Math.floor(element.clientWidth / zoom());
    if (width > 40 && width !== last) change((last = width));
  };
  new ResizeObserver(look).observe(element);
  addEventListener("resize", () => {
    last = 0; // other sizes than the width may have changed
    look();
  });
  look();
}

/** A size that the style sheet sets for pictures within an element, or the usual one. */
export function sizeOf(element, name, usual) {
  return parseFloat(getComputedStyle(element).getPropertyValue(name)) || usual;
}

/** A picture's own coordinates; on the page it is as wide as its place. */
export function frame(picture, width, height) {
  set(picture, { viewBox: `0 0 ${width} ${height}` });
}

/** Where an event is in the coordinates of a picture. */
export function pointIn(picture, { clientX, clientY }) {
  const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(picture.getScreenCTM().inverse());
  return [x, y];
}

/** Show the text that `textAt(point)` gives for the pointer's place in a picture, if any. */
export function tipOn(picture, textAt) {
  const tip = byId("tip");
  picture.addEventListener("pointermove", (event) => {
    const text = textAt(pointIn(picture, event));
    tip.hidden = !text;
    if (!text) return;
    say(tip, text);
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.translate = `${Math.max(left, 8)}px ${event.clientY + 16}px`;
  });
  picture.addEventListener("pointerleave", () => (tip.hidden = true));
}

/** The first of `marks` [point, text] within reach of a point, or nothing. */
export function nearest(marks, [x, y], reach = 12) {
  const distance = ([[u, v]]) => Math.hypot(u - x, v - y);
  const best = marks.reduce((a, b) => (distance(b) < distance(a) ? b : a), [[1e9, 1e9], ""]);
  return distance(best) <= reach ? best[1] : "";
}

/** A row of buttons of which one is pressed. */
export function tabs(options, chosen, choose) {
  return Object.entries(options).map(([value, text]) =>
    html(
      "button",
      { type: "button", "aria-pressed": value === String(chosen), onclick: () => choose(value) },
      text,
    ),
  );
}

/** A list of marks [element, text]. */
export function legend(marks) {
  const items = marks.map(([mark, text]) => {
    const sample = svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, mark);
    return html("li", {}, sample, html("span", {}, text));
  });
  return html("ul", { class: "legend" }, ...items);
}
