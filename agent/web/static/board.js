// The boards of a position: one tab stop, on which arrows move; ghosts of what a move would change; slides of what moved.
import { boards, h, s } from "./dom.js";

const SLIDE_MILLISECONDS = 220;
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Returns the place of a square in its picture. */
function placeOf(square) {
  return (square.getAttribute("transform") ?? "").match(/-?[\d.]+/g)?.map(Number) ?? [0, 0];
}

/** Returns what stands on each square of some pictures: by the square's name its element, picture and markup. */
function standing(pictures) {
  return new Map(
    pictures.flatMap((svg) =>
      [...svg.querySelectorAll("[data-square]")].map((square) => {
        const piece = square.querySelector(":scope > .pc");
        return [square.dataset.square, { square, svg, piece, markup: piece?.innerHTML ?? "" }];
      }),
    ),
  );
}

/** Returns what stands otherwise in a position than in pictures: by the square's name, as it is there. */
function differences(pictures, position) {
  const here = standing(pictures);
  return [...standing(boards(position))].filter(([name, there]) => here.has(name) && here.get(name).markup !== there.markup);
}

/** Makes a small picture of the squares that a move fills, and counts them. */
export function shapeOf(pictures, position) {
  const filled = differences(pictures, position).map(([, there]) => there).filter(({ markup }) => markup);
  if (!filled.length) return { cells: 0, svg: null };
  const places = filled.map(({ square }) => placeOf(square));
  const least = [0, 1].map((axis) => Math.min(...places.map((place) => place[axis])));
  const most = [0, 1].map((axis) => Math.max(...places.map((place) => place[axis])));
  const box = [least[0] - 20, least[1] - 20, most[0] - least[0] + 40, most[1] - least[1] + 40];
  const svg = s("svg", { class: "board shape", viewBox: box.join(" "), "aria-hidden": "true" });
  svg.append(...filled.map(({ square, piece }) => s("g", { transform: square.getAttribute("transform") }, piece)));
  svg.style.width = `${Math.round(box[2] * 0.4)}px`;
  return { cells: filled.length, svg };
}

export class Boards {
  /** `click(square)` is called for a square that is clicked or entered, `point(square)` for one pointed at, or null. */
  constructor(click, point) {
    this.pictures = [];
    this.flipped = this.pointed = this.pressed = false;
    this.element = h("div", {
      class: "diagram",
      onclick: (event) => this.at(event) && click(this.at(event).dataset.square),
      onpointerover: (event) => event.pointerType === "touch" || point(this.at(event)?.dataset.square ?? null),
      onpointerleave: () => point(null),
      onkeydown: (event) => this.key(event, click),
      onpointerdown: () => {
        this.pointed = this.pressed = true;
      },
      onpointerup: () => {
        this.pressed = false;
      },
      onfocusin: (event) => {
        if (event.relatedTarget && !this.pressed && !this.element.contains(event.relatedTarget)) this.pointed = false;
        this.stop = this.at(event);
        this.ring();
        point(this.stop?.dataset.square ?? null);
      },
      onfocusout: () => {
        this.ring();
        point(null);
      },
    });
  }

  /** Shows a position; `slide` is whether what has moved is seen moving. */
  show(position, slide) {
    const before = standing(this.pictures);
    const held = this.element.contains(document.activeElement);
    const stop = this.stop?.dataset.square;
    this.pictures = boards(position);
    this.element.replaceChildren(...this.pictures);
    this.element.hidden = !this.pictures.length;
    if (this.flipped) this.pictures.forEach(turn);
    this.stop = this.find(stop);
    if (held && this.stop) {
      this.stop.setAttribute("tabindex", "0");
      this.stop.focus({ preventScroll: true });
    }
    if (slide && !still.matches) this.slide(before);
  }

  flip() {
    this.flipped = !this.flipped;
    this.pictures.forEach(turn);
    this.ring();
  }

  /** Makes squares act like buttons, of which one is a tab stop; others are `hinted`. */
  mark(marked, hinted) {
    const places = [...this.element.querySelectorAll("[data-square]")];
    // The square keeps the focus, also where nothing can be chosen just now.
    const held = places.find((square) => square === document.activeElement);
    const acts = (square) => marked.has(square.dataset.square);
    this.stop = held ?? (this.stop?.isConnected && acts(this.stop) ? this.stop : places.find(acts)) ?? this.stop;
    for (const square of places) {
      square.classList.toggle("choice", acts(square));
      square.classList.toggle("target", acts(square));
      square.classList.toggle("hinted", hinted.has(square.dataset.square));
      const attributes = {
        tabindex: square === this.stop ? "0" : acts(square) ? "-1" : null,
        role: acts(square) ? "button" : null,
        "aria-label": acts(square) ? (square.querySelector(":scope > title")?.textContent ?? square.dataset.square) : null,
      };
      for (const [name, value] of Object.entries(attributes)) {
        if (value === null) square.removeAttribute(name);
        else square.setAttribute(name, value);
      }
    }
  }

  at(event) {
    return event.target.closest?.("[data-square]");
  }

  find(name) {
    return [...this.element.querySelectorAll("[data-square]")].find((square) => square.dataset.square === name) ?? null;
  }

  key(event, click) {
    const from = this.at(event);
    if (!from) return;
    if (event.key === "Enter" || event.key === " ") click(from.dataset.square);
    else if (event.key in DIRECTIONS && !this.pointed) this.step(from, DIRECTIONS[event.key]);
    else return;
    event.preventDefault();
    // The arrows are those of the board here, not those of the match, unless a pointer has brought the focus here.
    event.stopPropagation();
  }

  /** Moves the focus to the nearest choice in a direction. */
  step(from, [right, down]) {
    const [x, y] = placeOf(from);
    const away = (square) => {
      const [dx, dy] = placeOf(square).map((value, axis) => value - [x, y][axis]);
      const along = dx * right + dy * down;
      return along > 1 ? along + 3 * Math.abs(dx * down + dy * right) : Infinity;
    };
    const others = [...from.ownerSVGElement.querySelectorAll("[data-square].choice")];
    const next = others.reduce((best, square) => (away(square) < away(best) ? square : best), from);
    from.setAttribute("tabindex", next === from ? "0" : "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }

  /** Puts the ring of the focus, which is above all squares, where the focus is. */
  ring() {
    const square = this.element.querySelector("[data-square]:focus-visible");
    for (const ring of this.element.querySelectorAll(".ring")) {
      if (ring.ownerSVGElement === square?.ownerSVGElement) ring.setAttribute("transform", square.getAttribute("transform"));
      else ring.removeAttribute("transform");
    }
  }

  /** Shows what another position changes, as ghosts; null ends that. */
  ghost(position) {
    for (const ghost of this.element.querySelectorAll(".ghost")) ghost.remove();
    for (const square of this.element.querySelectorAll(".leaving")) square.classList.remove("leaving");
    if (position === null) return;
    const here = standing(this.pictures);
    for (const [name, { piece, markup }] of differences(this.pictures, position)) {
      const { square, svg } = here.get(name);
      square.classList.add("leaving");
      if (markup) svg.append(s("g", { class: "ghost", transform: square.getAttribute("transform") }, piece));
    }
  }

  /** Lets each piece that has changed its square slide there. */
  slide(before) {
    const now = standing(this.pictures);
    const gone = [...before].filter(([name, was]) => was.markup && now.get(name)?.markup !== was.markup);
    for (const [name, { square, svg, piece, markup }] of now) {
      if (!markup || !before.has(name) || before.get(name).markup === markup) continue;
      const at = gone.findIndex(([, was]) => was.markup === markup);
      if (at < 0) continue;
      const [[, was]] = gone.splice(at, 1);
      const [dx, dy] = placeOf(was.square).map((value, axis) => value - placeOf(square)[axis]);
      // Squares that are drawn later would cover it.
      const moving = s("g", { class: "sq" }, piece.cloneNode(true));
      svg.append(s("g", { transform: square.getAttribute("transform") }, moving));
      piece.classList.add("unseen-piece");
      moving.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: SLIDE_MILLISECONDS, easing: "ease-out" }).finished.finally(() => {
        moving.parentNode.remove();
        piece.classList.remove("unseen-piece");
      });
    }
  }
}

/** Turns a picture round, its writing upright. */
function turn(svg) {
  const squares = [...svg.querySelectorAll("[data-square]")];
  const places = squares.map(placeOf);
  const sum = [0, 1].map((axis) => Math.min(...places.map((place) => place[axis])) + Math.max(...places.map((place) => place[axis])));
  squares.forEach((square, index) => {
    square.setAttribute("transform", `translate(${sum[0] - places[index][0]} ${sum[1] - places[index][1]})`);
    // What is joined to its neighbours is turned with them.
    for (const tile of square.querySelectorAll(":scope > .pc > path.a")) tile.parentNode.classList.toggle("turned");
  });
  for (const label of svg.querySelectorAll(".lab")) {
    const axis = label.classList.contains("row") ? "y" : "x";
    const middle = axis === "y" ? sum[1] + 8 : sum[0];
    label.setAttribute(axis, middle - Number(label.getAttribute(axis)));
  }
  for (const edge of svg.querySelectorAll(".edge")) edge.setAttribute("transform", edge.getAttribute("transform") ? "" : `translate(${sum[0]} ${sum[1]}) scale(-1)`);
}
