// One match: its board at some ply, the moves, the players' thoughts, the values so far.
import { announce, boards, carefulButton, clockText, get, h, paint, plain, playerName, post, rangeOf } from "./dom.js";
import { factTable } from "./facts.js";
import { follow } from "./live.js";
import { plot } from "./plot.js";
import { SeatPanel } from "./seat.js";
import { thinkingPanel } from "./thinking.js";

const ENDS = {
  finished: "The match is over.",
  stalled: "The match has stalled: a role has no legal move although it is not over.",
  aborted: "The match was aborted.",
  stopped: "The match was stopped by its manager.",
  resigned: "The match was resigned.",
};

const CLOCK_MILLISECONDS = 100;
const KEPT_DRAWINGS = 400;

/** Whether a thought says anything: it does not where there was no choice. */
function says(thought) {
  return thought && (thought.value !== null || thought.candidates.length > 1);
}

function ending(outcome) {
  return ENDS[outcome] ?? `The match is ${outcome}.`;
}

export class Match {
  constructor(key, ply) {
    this.key = key;
    this.wanted = ply;
    this.match = null;
    this.steps = [];
    this.drawings = new Map();
    this.drawn = null;

    this.title = h("h1", {});
    this.meta = h("p", { class: "quiet meta" });
    this.players = h("ul", { class: "players", "aria-label": "Players" });
    this.state = h("p", { class: "phase" });
    this.verdict = h("p", { class: "verdict", hidden: true });
    this.message = h("p", { class: "quiet", role: "status" });
    const another = (text, question, action) => carefulButton(text, question, () => this.another(action), () => this.match.outcome === "running");
    this.again = another("Again", "End this match?", "again");
    this.swap = another("The other side", "End this match?", "swap");
    this.end = another("Stop", "End this match?", "stop");
    this.record = h("a", { class: "button", href: `/page/matches/${encodeURIComponent(key)}/record`, download: `${key}.json` }, "Save the match");
    this.next = h("div", { class: "actions" }, this.again, this.swap, this.end, this.record);
    this.clockFill = h("i", { class: "fill" });
    this.clockMargin = h("i", { class: "kept-back" });
    this.clockText = h("span", { class: "figure" });
    this.clock = h("div", { class: "clock", role: "timer", "aria-label": "Clock" }, h("div", { class: "track" }, this.clockFill, this.clockMargin), this.clockText);

    this.board = h("div", { class: "diagram" });
    this.boardNote = h("p", { class: "quiet note" });
    this.slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Ply", oninput: () => this.step(Number(this.slider.value)) });
    this.counter = h("span", { class: "counter" });
    const button = (label, sign, step) => h("button", { type: "button", "aria-label": label, title: label, onclick: step }, sign);
    this.back = button("Back", "‹", () => this.step(this.shown - 1));
    this.forth = button("Forth", "›", () => this.step(this.shown + 1));
    this.live = h("a", { class: "button live-link", href: `#/match/${key}` }, "Live");
    this.controls = h(
      "nav",
      { class: "controls", "aria-label": "Replay" },
      button("To the beginning", "«", () => this.step(0)),
      this.back,
      this.slider,
      this.forth,
      button("To the end", "»", () => this.goLive()),
      this.counter,
      this.live,
    );
    this.seat = new SeatPanel(
      (action, data) => this.act(action, data),
      (squares, hinted) => this.markSquares(squares, hinted),
    );
    this.plot = h("section", { class: "panel", "aria-label": "Value over the match", hidden: true });
    this.facts = h("section", { class: "panel", "aria-label": "Facts", hidden: true });
    this.thoughts = h("div", { class: "thoughts" });
    this.thinking = h("section", { class: "panel", "aria-label": "What is being thought" }, h("h2", {}, "Thinking"), this.thoughts);
    this.moveList = h("ol", { class: "moves" });
    this.moves = h("section", { class: "panel", "aria-label": "Moves" }, h("h2", {}, "Moves"), this.moveList);
    this.errorList = h("ul", { class: "errors" });
    this.errors = h("section", { class: "panel", "aria-label": "Errors of players", hidden: true }, h("h2", {}, "Errors of players"), this.errorList);

    this.element = h(
      "div",
      { class: "match" },
      h("div", { class: "heading" }, this.title, this.meta),
      h(
        "div",
        { class: "stage" },
        h("section", { class: "panel boards", "aria-label": "Position" }, this.board, this.boardNote, this.controls),
        this.plot,
        this.facts,
      ),
      h("aside", { class: "side" }, h("section", { class: "panel about", "aria-label": "Match" }, this.verdict, this.players, this.state, this.clock, this.next, this.message), this.seat.element, this.thinking, this.moves, this.errors),
    );
    this.board.addEventListener("click", (event) => this.clickBoard(event));
    this.board.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.clickBoard(event);
      }
    });
  }

  open(tell) {
    document.title = "Match – ggp-agent";
    this.stop = follow(`/page/matches/${encodeURIComponent(this.key)}`, (view) => this.take(view), tell, (message) => {
      if (this.match) return;
      tell("");
      this.element.replaceChildren(h("div", { class: "empty" }, h("p", {}, message), h("p", {}, h("a", { href: "#/" }, "All matches"))));
    });
    this.resized = () => this.match && this.show();
    window.addEventListener("resize", this.resized);
    this.ticking = setInterval(() => this.tick(), CLOCK_MILLISECONDS);
  }

  close() {
    this.stop?.();
    clearInterval(this.ticking);
    window.removeEventListener("resize", this.resized);
  }

  // --- data from the server

  take(view) {
    const before = this.match;
    this.match = view;
    if (before?.outcome !== "running" && before && view.version < before.version) this.steps = [];
    for (const step of view.steps) this.steps[step.ply] = step;
    if (this.steps.length > view.plies + 1) this.drawings.clear();
    this.steps.length = view.plies + 1;
    this.clockAt = performance.now();
    this.showHeading();
    this.showMoves(view.steps);
    this.showErrors();
    Object.assign(this.element.dataset, { plies: view.plies, outcome: view.outcome });
    this.moves.hidden = view.plies === 0;
    this.tick();
    this.seat.take(view.seat, view.roles);
    if (before && before.plies !== view.plies && this.wanted === null) this.tellMove();
    if (view.outcome !== "running" && before?.outcome === "running") announce(`${ending(view.outcome)} ${this.judge()} ${this.result()}`);
    this.show();
  }

  get shown() {
    const last = this.steps.length - 1;
    return this.wanted === null ? last : Math.min(this.wanted, last);
  }

  showHeading() {
    const { match } = this;
    this.title.replaceChildren(match.game, match.id && match.id !== match.game && !match.id.startsWith(`match.${match.game}.`) ? h("small", { class: "quiet id" }, ` ${match.id}`) : "");
    document.title = `${match.game} – ggp-agent`;
    const [start, play] = match.clocks;
    const began = new Date(1000 * match.began).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    this.meta.textContent = start === null ? "" : this.untimed ? began : `clocks ${start} s and ${play} s · ${began}`;
    this.players.replaceChildren(
      ...match.roles.map((role, index) =>
        h(
          "li",
          {},
          h("span", { class: `chip role-${index % 6}`, "aria-hidden": "true" }),
          h("span", { class: "role" }, plain(role)),
          h("span", { class: "quiet player" }, playerName(match.players[index])),
          h("span", { class: "figure" }, match.goals.length ? String(match.goals[index] ?? "no value") : ""),
        ),
      ),
    );
    this.state.textContent = match.outcome === "running" ? match.phase : ending(match.outcome);
    const verdict = this.judge();
    this.verdict.hidden = verdict === "";
    this.verdict.textContent = verdict;
    for (const action of [this.again, this.swap]) action.hidden = !match.again;
    this.swap.hidden ||= match.roles.length < 2;
    this.end.hidden = !match.again || match.outcome !== "running" || match.players.includes("human");
    this.record.hidden = match.outcome === "running";
    this.next.hidden = !match.again && this.record.hidden;
    this.again.classList.toggle("primary", match.outcome !== "running");
  }

  /** Says how a match ended for the only person in it. */
  judge() {
    const { goals, players, resigned } = this.match;
    const mine = players.indexOf("human");
    if (mine >= 0 && resigned === mine) return "You resigned.";
    if (mine < 0 || mine !== players.lastIndexOf("human") || (goals[mine] ?? null) === null) return "";
    const others = goals.filter((goal, index) => index !== mine && goal !== null);
    if (!others.length) return `You got ${goals[mine]}.`;
    const best = Math.max(...others);
    return goals[mine] > best ? "You won." : goals[mine] < best ? "You lost." : "It is a draw.";
  }

  /** Whether clocks do not count: in a lobby they are for agents without a level, and for players at an address. */
  get untimed() {
    const { again, players } = this.match ?? {};
    return players?.some((player) => player.startsWith("agent:")) || (again && !players.some((player) => player === "agent" || player.includes(":")));
  }

  result() {
    return this.match.goals.length ? this.match.roles.map((role, index) => `${plain(role)} ${this.match.goals[index] ?? "no value"}`).join(", ") : "";
  }

  tellMove() {
    const step = this.steps[this.steps.length - 1];
    if (step?.moves) announce(`Ply ${step.ply}: ${this.spoken(step).map(({ role, move }) => `${role} ${plain(move)}`).join(", ")}`);
  }

  /** Returns the moves of a step without those of waiting roles: plain words beside moves with arguments. */
  spoken(step) {
    const all = step.moves.map((move, index) => ({ index, role: plain(this.match.roles[index] ?? `role ${index + 1}`), move }));
    const acting = all.filter(({ move }) => move.startsWith("("));
    return acting.length ? acting : all;
  }

  showMoves(changed) {
    const list = this.moveList;
    while (list.children.length > Math.max(0, this.steps.length - 1)) list.lastChild.remove();
    for (const { ply } of changed) {
      const step = this.steps[ply];
      if (!step || ply === 0) continue;
      const missed = step.turn - (this.steps[ply - 1]?.turn ?? 0) - 1;
      const texts = step.moves
        ? this.spoken(step).map(({ index, role, move }) => [h("span", { class: `chip role-${index % 6}`, title: role, "aria-label": role, role: "img" }), h("code", {}, plain(move))])
        : [h("span", { class: "quiet" }, missed ? `${missed} missed, then one not known` : "not known")];
      const title = step.moves?.map((move, index) => `${plain(this.match.roles[index] ?? "")}: ${plain(move)}`).join("\n");
      const item = h("li", { dataset: { ply } }, h("a", { href: `#/match/${this.key}/${ply}`, title: title ?? "" }, h("span", { class: "number" }, String(ply)), h("span", { class: "made" }, texts.flat())));
      const old = list.children[ply - 1];
      if (old) old.replaceWith(item);
      else list.append(item);
    }
  }

  showErrors() {
    const { errors } = this.match;
    this.errors.hidden = !errors.length;
    if (this.errorList.children.length === errors.length) return;
    this.errorList.replaceChildren(
      ...errors.map((error) => h("li", {}, h("strong", {}, `${plain(error.role)} `), `${error.kind} at step ${error.step}`, h("span", { class: "quiet" }, ` ${error.detail}`))),
    );
  }

  tick() {
    const clock = this.untimed ? null : this.match?.clock;
    this.clock.hidden = !clock;
    if (!clock || document.hidden) return;
    const left = clock.left - (performance.now() - this.clockAt) / 1000;
    const total = Math.max(clock.total, 0.1);
    this.clockFill.style.width = `${(100 * Math.max(0, Math.min(left, total))) / total}%`;
    this.clockMargin.style.width = `${(100 * Math.min(clock.margin, total)) / total}%`;
    this.clockText.textContent = clockText(left);
    this.clock.title = clock.margin ? `of ${total} s; ${clock.margin.toFixed(2)} s are kept back for the way to the manager` : `of ${total} s`;
  }

  // --- the shown position

  goTo(ply) {
    this.wanted = ply;
    if (this.match) this.show();
  }

  goLive() {
    this.replace(`#/match/${this.key}`);
  }

  step(ply) {
    if (ply < 0 || ply >= this.steps.length) return;
    if (ply === this.steps.length - 1 && this.match.outcome === "running") this.goLive();
    else this.replace(`#/match/${this.key}/${ply}`);
  }

  replace(hash) {
    if (location.hash !== hash) location.replace(hash);
  }

  onKey(key) {
    if (!this.match) return false;
    switch (key) {
      case "ArrowLeft":
        this.step(this.shown - 1);
        return true;
      case "ArrowRight":
        this.step(this.shown + 1);
        return true;
      case "Home":
        this.step(0);
        return true;
      case "End":
        this.goLive();
        return true;
      case "Escape":
        this.seat.restart();
        return true;
      default:
        return false;
    }
  }

  show() {
    const { shown, match } = this;
    const last = this.steps.length - 1;
    this.slider.max = last;
    this.slider.value = shown;
    this.slider.setAttribute("aria-valuetext", `ply ${shown} of ${last}`);
    this.counter.textContent = `${shown} / ${last}`;
    this.live.hidden = match.outcome !== "running" || this.wanted === null;
    for (const item of this.moveList.querySelectorAll("[aria-current]")) item.removeAttribute("aria-current");
    const current = this.moveList.children[shown - 1];
    if (current) {
      current.firstChild.setAttribute("aria-current", "step");
      const top = current.offsetTop;
      if (top < this.moveList.scrollTop || top + current.offsetHeight > this.moveList.scrollTop + this.moveList.clientHeight) this.moveList.scrollTop = top - this.moveList.clientHeight / 2;
    } else {
      this.moveList.scrollTop = 0;
    }
    this.plot.hidden = false;
    const drawnPlot = plot(this.plotRoom(), match.roles, this.steps, shown, match.goals, this.range(), (ply) => this.step(ply));
    this.plot.hidden = drawnPlot === null || last === 0;
    this.plot.replaceChildren(h("h2", {}, "Value"), ...(drawnPlot ? [drawnPlot] : []));
    this.showThoughts();
    this.draw(shown);
  }

  /** Returns the range of the goals seen and expected. */
  range() {
    const thoughts = this.steps.flatMap((step) => Object.values(step.thinking));
    return rangeOf([...this.match.goals, ...thoughts.flatMap((thought) => [thought.value, ...(thought.spread ?? [])])]);
  }

  /** Returns the width of the plot in pixels. */
  plotRoom() {
    const style = getComputedStyle(this.plot);
    return this.plot.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  }

  /** Returns the move that a role has made or answered in a position; undefined where it has not yet. */
  played(step, index) {
    return step.answers[index] ?? this.steps[step.ply + 1]?.moves?.[index];
  }

  showThoughts() {
    const step = this.steps[this.shown];
    const range = this.range();
    const panels = this.match.roles
      .map((role, index) => (says(step.thinking[index]) ? thinkingPanel(role, index, step.thinking[index], this.played(step, index), range) : null))
      .filter((panel) => panel !== null);
    const thinkers = this.match.own.length || this.steps.some((one) => Object.keys(one.thinking).length);
    this.thinking.hidden = !panels.length && (this.match.outcome !== "running" || !thinkers);
    const forced = Object.values(step.legal).length && Object.values(step.legal).every((count) => count <= 1);
    if (!panels.length) panels.push(h("p", { class: "quiet" }, forced ? "There is no choice." : "Nothing is known of what is thought here."));
    this.thoughts.replaceChildren(...panels);
  }

  async draw(ply) {
    const step = this.steps[ply];
    const choosing = this.match.seat?.ply === ply;
    const version = `${ply} ${step.known} ${step.moves} ${choosing ? this.match.seat.role : ""}`;
    if (this.drawn === version) return;
    let drawing = this.drawings.get(version);
    if (!drawing) {
      try {
        drawing = await get(`/page/matches/${encodeURIComponent(this.key)}/positions/${ply}`);
      } catch (error) {
        this.boardNote.textContent = error.message;
        return;
      }
      if (drawing.known) this.drawings.set(version, drawing);
      if (this.drawings.size > KEPT_DRAWINGS) this.drawings.delete(this.drawings.keys().next().value);
      if (this.shown !== ply) return;
    }
    this.drawn = drawing.known ? version : null;
    paint(this.element, drawing.colours);
    const pictures = boards(drawing);
    this.board.replaceChildren(...pictures);
    this.board.hidden = !pictures.length;
    const doubt = step.states > 1 ? `The likeliest of ${step.states} states that fit what was told.` : "";
    this.boardNote.textContent = drawing.known ? doubt : "This position is not known yet, or was not kept.";
    const table = factTable(drawing.rest, drawing.gone);
    this.facts.hidden = table === null;
    this.facts.replaceChildren(h("h2", {}, pictures.length ? "Other facts" : "Facts"), ...(table ? [table] : []));
    this.element.dataset.ply = ply;
    if (choosing) this.seat.takeChoices(ply, drawing.choices);
  }

  // --- a person plays

  act(action, data) {
    return post(`/page/matches/${encodeURIComponent(this.key)}/${action}`, data);
  }

  /** Ends the match, by `stop`, or begins another one of these rules, by `again` or `swap`, and shows it. */
  async another(action) {
    this.message.textContent = "One moment …";
    try {
      const { key } = await this.act(action, {});
      this.message.textContent = "";
      if (key) location.hash = `#/match/${key}`;
    } catch (error) {
      this.message.textContent = error.message;
    }
  }

  clickBoard(event) {
    const square = event.target.closest?.("[data-square]");
    if (square && this.match?.seat && this.shown === this.match.seat.ply) this.seat.click(square.dataset.square);
  }

  /** Makes squares with choices look and act like buttons. */
  markSquares(squares, hinted) {
    const counts = new Map(squares);
    const hintedSquares = new Set(hinted === null || hinted === undefined ? [] : Object.keys(this.seat.choices).filter((square) => this.seat.choices[square].includes(hinted)));
    const elements = [...this.board.querySelectorAll("[data-square]")];
    // Before anything is chosen, mark the squares with which moves begin.
    const begins = (element) => element.classList.contains("first");
    const beginning = !this.seat.narrowed && elements.some(begins);
    for (const element of elements) {
      const marked = counts.has(element.dataset.square) && (!beginning || begins(element));
      element.classList.toggle("choice", marked);
      element.classList.toggle("target", marked);
      element.classList.toggle("hinted", hintedSquares.has(element.dataset.square));
      if (!marked) {
        for (const name of ["tabindex", "role"]) element.removeAttribute(name);
      } else {
        element.setAttribute("tabindex", "0");
        element.setAttribute("role", "button");
        element.setAttribute("aria-label", element.querySelector(":scope > title")?.textContent ?? element.dataset.square);
      }
    }
  }
}
