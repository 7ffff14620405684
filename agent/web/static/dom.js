// Elements and texts. Text from matches gets into the page as text only, never as markup.

/** Makes an element. `attributes` named "on..." are listeners, `dataset` is an object, others are set. */
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

/** The range of goals: 0 to 100, or more where some of these (null for unknown ones) lie beyond. */
export function rangeOf(goals) {
  const known = goals.filter((goal) => goal !== null && goal !== undefined);
  return [known.reduce((least, goal) => Math.min(least, goal), 0), known.reduce((most, goal) => Math.max(most, goal), 100)];
}

/** Makes an SVG element. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Gives roles the colours of their pieces within an element; `colours` (null for no piece) are by role. */
export function paint(element, colours) {
  colours.forEach((colour, index) => {
    if (colour === null) return;
    element.style.setProperty(`--role-${index % 6}`, `var(--piece-${colour})`);
    // White and black are no lines on a white and a black page.
    element.style.setProperty(`--ink-${index % 6}`, `var(--edge-${colour})`);
  });
}

const DRAWN = new Set([
  "svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title",
  "desc", "use", "symbol", "clipPath", "linearGradient", "radialGradient", "stop", "pattern", "marker", "mask",
]);

/** Makes elements of a picture from the server. Only drawing elements pass, as names in a game may contain anything. */
export function picture(markup) {
  // The page's policy forbids inline styles; board.css has them.
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

/** Returns a term without its outer brackets. */
export function plain(text) {
  return text.startsWith("(") && text.endsWith(")") ? text.slice(1, -1) : text;
}

/** Fetches JSON data. Rejects with the server's message. */
export async function get(path) {
  const response = await fetch(path, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response.json();
}

/** Sends JSON data and returns the answer. Rejects with the server's message. */
export async function post(path, data) {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) });
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response.json();
}

/** Keeps a value in this browser; it may refuse. */
export function remember(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // The page works without.
  }
}

/** Returns a kept value; null where there is none. */
export function recall(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}

/** Returns the width of a picture in pixels: small boards are not blown up, and several fit side by side. */
export function pictureWidth(svg, count) {
  const [, , width, height] = (svg.getAttribute("viewBox") ?? "0 0 300 300").split(/[\s,]+/).map(Number);
  const scale = count > 1 ? 1.5 : 2.3;
  const most = count > 1 ? 340 : 640;
  return Math.min(width * scale, most, (most * width) / Math.max(1, height));
}

/** Makes the boards of a position, each as wide as is good to see. */
export function boards(position) {
  const pictures = position.svg.map(picture).filter((svg) => svg !== null);
  // Counters stand beside a board, and make it no smaller.
  const main = pictures.filter((svg) => !svg.classList.contains("bars"));
  for (const svg of pictures) svg.style.width = `${Math.round(pictureWidth(svg, main.includes(svg) ? main.length : pictures.length))}px`;
  return pictures;
}

/** Makes a small picture of a position: its first board, or its facts. */
export function thumbnail(position) {
  const svg = position?.svg.length ? picture(position.svg[0]) : null;
  // Nobody moves on a small picture.
  for (const square of svg?.querySelectorAll("[tabindex]") ?? []) square.removeAttribute("tabindex");
  return svg ?? h("span", { class: "quiet listed" }, position?.known ? position.rest.map(([text]) => plain(text)).join("\n") : "…");
}

/** Makes a role's sign: its piece, where `emblems` have one, or a spot in its colour; `spoken` is its name. */
export function chip(index, emblems, spoken = null) {
  const emblem = emblems?.[index] ? picture(emblems[index]) : null;
  const told = spoken === null ? { "aria-hidden": "true" } : { role: "img", title: spoken, "aria-label": spoken };
  return h("span", { class: `chip role-${index % 6}${emblem ? " emblem" : ""}`, ...told }, emblem);
}

/** Makes the list of the roles, in their colours. */
export function sides(roles, emblems) {
  return h("ul", { class: "sides", "aria-label": "Roles" }, roles.map((role, index) => h("li", {}, chip(index, emblems), plain(role))));
}

/** Names a player for people. */
export function playerName(player) {
  return player === "human" ? "person" : (player ?? "").replace(/^agent:/, "agent, ");
}

/** Makes a text begin with a capital. */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns a game's title, from the name of its rulesheet or the id of a match of it, such as match.NAME.NUMBER. */
export function gameTitle(name) {
  return capital(name.replace(/^match\.(?=.)/i, "").replace(/(?<=.)(\.\d+)+$/, "").replaceAll("_", " "));
}

/** Makes a button that asks back at the first click where `asks()` says so, and acts at the second. */
export function carefulButton(text, question, act, asks = () => true) {
  const reset = () => {
    button.textContent = text;
  };
  const button = h("button", {
    type: "button",
    onblur: reset,
    onclick: () => {
      const sure = button.textContent === question || !asks();
      button.textContent = sure ? text : question;
      if (sure) act();
    },
  }, text);
  return button;
}

/** Formats a number: 1234567 as 1.2 M. */
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

/** Announces a text to screen readers. */
export function announce(text) {
  const announcer = document.getElementById("announcer");
  if (announcer.textContent !== text) announcer.textContent = text;
}

/** Formats seconds as a clock: 1:05, or 4.2 s. */
export function clockText(seconds) {
  const left = Math.max(0, seconds);
  if (left < 60) return `${left < 10 ? left.toFixed(1) : Math.round(left)} s`;
  const whole = Math.round(left);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
