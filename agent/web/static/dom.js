// Small helpers. Text from matches gets into the page as text only, never as markup.

/** Makes an element. `attributes` whose name begins with "on" are listeners, `dataset` an object, others are set. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Makes an SVG element. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const DRAWN = new Set([
  "svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title",
  "desc", "use", "symbol", "clipPath", "linearGradient", "radialGradient", "stop", "pattern", "marker", "mask",
]);

/** A picture from the server as elements: only what draws is let through, whatever the names of a game spell. */
export function picture(markup) {
  // Its style is in board.css; where it stands, the page's policy does not let it in, and complains.
  markup = markup.replace(/<style>[^<]*<\/style>/g, "");
  const parsed = new DOMParser().parseFromString(markup, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return null;
  const root = document.importNode(parsed, true);
  for (const element of [root, ...root.querySelectorAll("*")]) {
    if (!DRAWN.has(element.nodeName)) {
      element.remove();
      continue;
    }
    for (const { name, value } of [...element.attributes]) {
      const local = name.toLowerCase();
      const link = local === "href" || local.endsWith(":href");
      if (local.startsWith("on") || local === "style" || (link && !value.startsWith("#"))) element.removeAttribute(name);
    }
  }
  return root;
}

/** A term without the brackets around it. */
export function plain(text) {
  return text.startsWith("(") && text.endsWith(")") ? text.slice(1, -1) : text;
}

/** Gets JSON data. Rejects with the server's own words where that fails. */
export async function get(path) {
  const response = await fetch(path, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response.json();
}

/** A number for people: 1234567 as 1.2 M. */
export function short(number) {
  if (number === null || number === undefined) return "";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(number) >= size) {
      const scaled = number / (unit === "k" ? 1e3 : size);
      return `${scaled.toFixed(scaled < 100 ? 1 : 0)} ${unit}`;
    }
  }
  return Number.isInteger(number) ? String(number) : number.toFixed(1);
}

/** Tells those who listen rather than look. */
export function announce(text) {
  const announcer = document.getElementById("announcer");
  if (announcer.textContent !== text) announcer.textContent = text;
}

/** Seconds as a clock: 1:05, or 4.2 s. */
export function clockText(seconds) {
  const left = Math.max(0, seconds);
  if (left < 60) return `${left < 10 ? left.toFixed(1) : Math.round(left)} s`;
  const whole = Math.round(left);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
