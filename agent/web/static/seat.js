// The choice of a move: by clicking squares, or from the legal moves, narrowed down argument by argument.
import { h } from "./dom.js";

const MOST_BUTTONS = 14;
const MOST_LARGE = 6;
const POINT_MILLISECONDS = 60;

/** Splits a move into words and brackets, so that moves can be compared place by place. */
function tokens(text) {
  return text.match(/[()]|[^\s()]+/g) ?? [];
}

export class Chooser {
  /** `table` takes what is chosen: `play(move)` it, `mark(squares, hinted)` those that can be clicked, `point(move)` at
   * one, or at null; it can `say(move)` as people do, and make a picture of the `shape(move)` that a move leaves. */
  constructor(table) {
    this.table = table;
    this.moves = [];
    this.choices = {};
    this.remaining = [];
    this.buttons = h("div", { class: "buttons", onpointerleave: () => this.point(null) });
    this.restartButton = h("button", { type: "button", class: "link", onclick: () => this.restart() }, "Choose anew");
    this.element = h("div", { class: "chooser" }, this.buttons, this.restartButton);
  }

  /** Takes in the moves to choose from, and those of each square. */
  take(moves, choices) {
    const same = moves.length === this.moves.length && moves.every((move, index) => move === this.moves[index]);
    this.choices = choices;
    this.moves = moves;
    if (same) this.show();
    else this.restart();
  }

  restart() {
    this.begun = null;
    this.hinted = null;
    this.remaining = this.moves;
    this.point(null);
    this.show();
  }

  /** Marks a move's squares. */
  hint(move) {
    this.restart();
    this.hinted = move;
    this.show();
  }

  /** Narrows the moves down to those of a clicked square; a single one is played, and the first square begins anew. */
  click(square) {
    if (square === this.begun) {
      this.restart();
      return;
    }
    const left = this.movesAt(square);
    if (!left.length) return;
    this.begun = square;
    this.narrow(left);
  }

  /** Returns the moves that a square leaves; those that begin there if it leaves none. */
  movesAt(square) {
    const mentioned = new Set(this.choices[square] ?? []);
    const left = this.remaining.filter((move) => mentioned.has(move));
    return left.length ? left : this.moves.filter((move) => mentioned.has(move));
  }

  /** Shows what the move of a square, or a move itself, would do; null ends that. */
  point(move) {
    clearTimeout(this.pointing);
    this.pointing = setTimeout(() => this.table.point(move), move === null ? 0 : POINT_MILLISECONDS);
  }

  pointAt(square) {
    const left = square === null ? [] : this.movesAt(square);
    this.point(left.length === 1 ? left[0] : null);
  }

  narrow(left) {
    this.remaining = left;
    if (left.length === 1) this.table.play(left[0]);
    else this.show();
  }

  show() {
    const { remaining, hinted } = this;
    const narrowed = remaining.length < this.moves.length;
    this.restartButton.hidden = !narrowed;
    const leads = (moves) => moves.some((move) => remaining.includes(move));
    this.table.mark(
      new Set(Object.keys(this.choices).filter((square) => leads(this.choices[square]))),
      new Set(Object.keys(this.choices).filter((square) => hinted && this.choices[square].includes(hinted))),
      narrowed,
    );
    this.buttons.classList.toggle("large", this.moves.length <= MOST_LARGE && !Object.keys(this.choices).length);
    // A button that is being pressed must stay: news of the match arrive at any time.
    const shown = JSON.stringify(remaining.map((move) => [move, this.table.say(move)]));
    if (shown === this.shown) return;
    this.shown = shown;
    if (remaining.length <= MOST_BUTTONS) {
      this.buttons.replaceChildren(...remaining.map((move) => this.button(this.table.say(move), move, () => this.table.play(move))));
      return;
    }
    // Find the first place at which the moves differ.
    const split = remaining.map((move) => [move, tokens(this.table.say(move))]);
    let place = 0;
    while (split.every(([, parts]) => parts[place] === split[0][1][place])) place += 1;
    const groups = new Map();
    for (const [move, parts] of split) groups.set(parts[place] ?? "", [...(groups.get(parts[place] ?? "") ?? []), move]);
    const common = split[0][1].slice(0, place).filter((part) => part !== "(" && part !== ")");
    const values = [...groups].sort(([one], [other]) => one.localeCompare(other, undefined, { numeric: true }));
    const made = values.map(([value, [first, ...others]]) =>
      others.length
        ? this.button(`${value === "(" ? "…" : value || "as it is"} (${others.length + 1})`, null, () => this.narrow([first, ...others]))
        : this.button(this.table.say(first), first, () => this.table.play(first)),
    );
    this.buttons.replaceChildren(...(common.length ? [h("p", { class: "quiet common" }, `${common.join(" ")} …`)] : []), ...made);
    this.drawShapes(made, values.map(([, [first]]) => first));
  }

  /** Puts the shapes that moves leave on their groups' buttons; where the first is a single square, all will be. */
  async drawShapes(buttons, moves) {
    for (const [index, button] of buttons.entries()) {
      const { cells, svg } = await this.table.shape(moves[index]);
      if ((index === 0 && cells < 2) || !button.isConnected) return;
      if (svg) button.prepend(svg);
    }
  }

  button(text, move, onclick) {
    const point = () => this.point(move);
    // A finger does not point before it chooses.
    const hover = ({ pointerType }) => pointerType === "touch" || point();
    return h("button", { type: "button", class: "move", onclick, onpointerenter: hover, onfocus: point, onblur: () => this.point(null) }, h("span", {}, text));
  }
}
