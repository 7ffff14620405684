// A person's move: by clicking squares, or from the legal moves, narrowed down argument by argument.
import { carefulButton, h, plain } from "./dom.js";

const MOST_BUTTONS = 14;

/** Splits a term into atoms and brackets, so that moves can be compared place by place. */
function tokens(text) {
  return text.match(/[()]|[^\s()]+/g) ?? [];
}

export class SeatPanel {
  /** `send(action, data)` calls the server; `mark(squares, hinted)` marks the squares that can be clicked. */
  constructor(send, mark) {
    this.send = send;
    this.mark = mark;
    this.seat = null;
    this.choices = {};
    this.remaining = [];
    this.message = h("p", { class: "quiet", role: "status" });
    this.buttons = h("div", { class: "buttons" });
    this.title = h("h2", {});
    this.hintButton = h("button", { type: "button", onclick: () => this.hint() }, "Hint");
    this.undoButton = h("button", { type: "button", onclick: () => this.act("undo") }, "Take back");
    this.resignButton = carefulButton("Resign", "Really resign?", () => this.act("resign"));
    this.againButton = h("button", { type: "button", onclick: () => this.restart() }, "Choose anew");
    this.element = h("section", { class: "panel seat", "aria-label": "Your move", hidden: true }, this.title, this.buttons, h("div", { class: "actions" }, this.againButton, this.hintButton, this.undoButton, this.resignButton), this.message);
  }

  /** Takes in the possible actions; null while nobody is asked. */
  take(seat, roles) {
    const before = this.seat;
    this.seat = seat;
    this.element.hidden = seat === null;
    if (seat === null) {
      this.choices = {};
      this.mark([], null);
      return;
    }
    if (before && before.ply === seat.ply && before.role === seat.role) return;
    this.title.textContent = `Your move: ${plain(roles[seat.role])}`;
    this.hintButton.hidden = !seat.hint;
    this.undoButton.hidden = !seat.undo;
    this.message.textContent = "";
    this.restart();
  }

  /** Takes in the moves by square, once the position is drawn. */
  takeChoices(ply, choices) {
    if (this.seat === null || this.seat.ply !== ply) return;
    this.choices = choices;
    this.show();
  }

  /** Whether something was chosen already. */
  get narrowed() {
    return this.seat !== null && this.remaining.length < this.seat.moves.length;
  }

  restart() {
    this.hinted = null;
    this.remaining = this.seat ? [...this.seat.moves] : [];
    this.fixed = [];
    this.show();
  }

  /** Narrows the moves down to those of a clicked square; a single one is played. */
  click(square) {
    if (!this.seat) return;
    const mentioned = new Set(this.choices[square] ?? []);
    let left = this.remaining.filter((move) => mentioned.has(move));
    if (!left.length) {
      // The square begins another move.
      left = this.seat.moves.filter((move) => mentioned.has(move));
      if (!left.length) return;
    }
    this.narrow(left);
  }

  narrow(left) {
    this.remaining = left;
    if (left.length === 1) this.act("move", { move: left[0] });
    else this.show();
  }

  show() {
    const { seat, remaining } = this;
    if (!seat) return;
    this.againButton.hidden = !this.narrowed;
    const squares = Object.entries(this.choices).filter(([, moves]) => moves.some((move) => remaining.includes(move)));
    this.mark(squares.map(([square, moves]) => [square, moves.filter((move) => remaining.includes(move)).length]), this.hinted);
    if (remaining.length <= MOST_BUTTONS) {
      this.buttons.replaceChildren(...remaining.map((move) => this.button(plain(move), () => this.act("move", { move }))));
      return;
    }
    // Find the first place at which the moves differ.
    const split = remaining.map((move) => [move, tokens(move)]);
    let place = 0;
    while (split.every(([, parts]) => parts[place] === split[0][1][place])) place += 1;
    const groups = Map.groupBy ? Map.groupBy(split, ([, parts]) => parts[place] ?? "") : group(split, place);
    const common = split[0][1].slice(0, place).filter((part) => part !== "(" && part !== ")");
    const values = [...groups].sort(([one], [other]) => one.localeCompare(other, undefined, { numeric: true }));
    this.buttons.replaceChildren(
      ...(common.length ? [h("p", { class: "quiet common" }, `${common.join(" ")} …`)] : []),
      ...values.map(([value, moves]) =>
        this.button(moves.length === 1 ? plain(moves[0][0]) : `${value === "(" ? "…" : value || "as it is"} (${moves.length})`, () => this.narrow(moves.map(([move]) => move))),
      ),
    );
  }

  button(text, onclick) {
    return h("button", { type: "button", class: "move", onclick }, text);
  }

  async act(action, data = {}) {
    const { ply, role } = this.seat;
    try {
      return await this.send(action, { ply, role, ...data });
    } catch (error) {
      this.message.textContent = error.message;
      return null;
    }
  }

  async hint() {
    const { ply } = this.seat;
    this.hintButton.disabled = true;
    this.message.textContent = "Thinking about it …";
    const found = await this.act("hint");
    this.hintButton.disabled = false;
    if (!found || this.seat?.ply !== ply) return;
    this.message.textContent = `Hint: ${plain(found.move)}`;
    this.hinted = found.move;
    this.remaining = [...this.seat.moves];
    this.show();
  }
}

function group(split, place) {
  const groups = new Map();
  for (const one of split) {
    const value = one[1][place] ?? "";
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(one);
  }
  return groups;
}
