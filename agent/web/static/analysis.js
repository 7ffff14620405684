// Analysis of a match that is over: own variations from any position, the agent's thoughts about them, playing on.
import { capital, gameTitle, get, h, plain } from "./dom.js";
import { follow } from "./live.js";
import { openMatchForm } from "./setup.js";
import { thinkingPanel } from "./thinking.js";

const THINK_MILLISECONDS = 250;

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export class Analysis {
  /** `page` is the page of the match. */
  constructor(page) {
    this.page = page;
    this.line = null;
    this.role = undefined;
    this.chosen = [];
    this.variations = [];
    this.thinks = false;
    this.thoughtAt = null;
    const button = (text, onclick) => h("button", { type: "button", onclick }, text);
    this.begin = button("Analyse", () => this.toggle());
    this.think = button("Think", () => this.toggleThought());
    this.playOn = button("Play on from here …", () => this.offer());
    this.whose = h("p", { class: "next-role" });
    this.message = h("p", { class: "trouble", role: "alert" });
    this.thoughts = h("div", { class: "thoughts" });
    this.list = h("ol", { class: "variations", "aria-label": "Variations" });
    this.element = h("section", { class: "panel analysis", "aria-label": "Analysis", hidden: true }, h("div", { class: "actions" }, this.begin, this.think, this.playOn), this.list, this.whose, this.message, this.thoughts);
  }

  close() {
    this.stopThought?.();
    clearTimeout(this.later);
  }

  toggle() {
    this.line = this.line ? null : [];
    if (!this.line && this.thinks) this.toggleThought();
    this.page.show();
  }

  /** Returns to the line of the match. */
  leave() {
    if (this.line?.length) this.line = [];
  }

  show() {
    const { match } = this.page;
    const on = this.line !== null;
    this.element.hidden = match.outcome === "running";
    this.begin.setAttribute("aria-pressed", String(on));
    this.think.setAttribute("aria-pressed", String(this.thinks));
    this.think.hidden = this.playOn.hidden = !on || !match.analysis;
    this.whose.hidden = this.list.hidden = !on;
    this.list.replaceChildren(...this.variations.map((one) => this.item(one)));
    this.follow();
  }

  /** Shows a variation, each move of which can be gone to. */
  item({ ply, line }) {
    const here = (length) => this.line && this.page.shown === ply && same(this.line, line.slice(0, length));
    return h(
      "li",
      {},
      h("span", { class: "number quiet" }, `${ply + 1} `),
      ...line.map((moves, index) =>
        h("button", { type: "button", class: "link", "aria-current": here(index + 1) ? "step" : null, onclick: () => this.goTo(ply, line.slice(0, index + 1)) }, this.page.spoken(moves).map(({ move }) => this.page.say(move)).join(", ")),
      ),
    );
  }

  goTo(ply, line) {
    this.line = line;
    this.page.replace(`#/match/${this.page.key}/${ply}`);
    this.page.show();
  }

  /** Goes some moves along the variation that is shown; returns whether that is one. */
  go(moves) {
    if (!this.line) return false;
    const { shown } = this.page;
    const whole = this.variations.find(({ ply, line }) => ply === shown && same(line.slice(0, this.line.length), this.line));
    const length = this.line.length + moves;
    if (!this.line.length || !whole || length > whole.line.length) return this.line.length > 0;
    this.goTo(shown, whole.line.slice(0, length));
    return true;
  }

  /** Lets the person choose a move of the next role that has a choice. */
  choose(position) {
    this.position = position;
    this.chosen = [];
    this.ask();
  }

  ask() {
    const { legal, terminal, goals, choices } = this.position;
    const { roles } = this.page.match;
    const free = roles.map((_, index) => index).filter((index) => legal[index].length > 1);
    // Where nobody has a choice, there is still a move to make.
    this.role = free.find((index) => this.chosen[index] === undefined) ?? (free.length ? undefined : 0);
    const moves = this.role === undefined ? [] : legal[this.role];
    this.whose.textContent = terminal ? `The end: ${roles.map((role, index) => `${plain(role)} ${goals[index] ?? "no value"}`).join(", ")}` : this.role === undefined ? "" : `${plain(roles[this.role])} to move`;
    const own = Object.entries(choices).map(([square, all]) => [square, all.filter((move) => moves.includes(move))]);
    this.page.offer(this.element, this.role, moves, Object.fromEntries(own.filter(([, left]) => left.length)));
  }

  /** Takes a move into the variation, once all roles that have a choice have one. */
  play(move) {
    this.chosen[this.role] = move;
    const { legal } = this.position;
    if (legal.some((moves, index) => moves.length > 1 && this.chosen[index] === undefined)) {
      this.ask();
      return;
    }
    const { shown, steps } = this.page;
    const joint = legal.map((_, index) => this.chosen[index] ?? null);
    if (!this.line.length && steps[shown + 1]?.moves?.every((made, index) => made === (joint[index] ?? made))) {
      this.page.step(shown + 1);
      return;
    }
    const longer = [...this.line, joint];
    const known = this.variations.find(({ ply, line }) => ply === shown && same(line.slice(0, longer.length), longer));
    const grown = this.variations.find(({ ply, line }) => ply === shown && line.length && same(line, this.line));
    if (!known && grown) grown.line = longer;
    else if (!known) this.variations.push({ ply: shown, line: longer });
    this.line = longer;
    this.page.show();
  }

  // --- the agent's thoughts

  toggleThought() {
    this.thinks = !this.thinks;
    this.page.show();
  }

  /** Follows the agent's thoughts about the shown position, while they are wanted. */
  follow() {
    const at = this.thinks && this.line ? `${this.page.path}/thoughts?ply=${this.page.shown}&line=${encodeURIComponent(JSON.stringify(this.line))}` : null;
    if (at === this.thoughtAt) return;
    this.thoughtAt = at;
    this.close();
    this.told = null;
    this.message.textContent = "";
    this.thoughts.replaceChildren(...(at ? [h("progress", { "aria-label": "Thinking" })] : []));
    if (!at) return;
    this.later = setTimeout(() => {
      this.stopThought = follow(at, (told) => this.takeThought(told), () => {}, (message) => this.takeThought({ error: message }));
    }, THINK_MILLISECONDS);
  }

  takeThought({ role, thinking, error, done }) {
    if (thinking) this.told = { role, thinking };
    this.showThought();
    if (error) this.thoughts.replaceChildren();
    if (error) this.message.textContent = capital(error);
    // Asked again, it would think again.
    if (error || done) this.stopThought?.();
  }

  showThought() {
    if (!this.told) return;
    const { role, thinking } = this.told;
    this.thoughts.replaceChildren(thinkingPanel(this.page.match.roles[role], role, thinking, undefined, this.page));
  }

  /** Offers a match that begins in the shown position. */
  async offer() {
    const { key, match, shown, colours, emblems } = this.page;
    const { levels } = await get("/page/lobby");
    const roles = match.roles.filter((role) => role.toLowerCase() !== "random");
    openMatchForm(`${gameTitle(match.game)} from ply ${shown + this.line.length}`, { record: key, ply: shown, line: this.line, name: match.game }, roles, levels, { colours, emblems });
  }
}
