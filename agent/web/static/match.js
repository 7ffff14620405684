// One match: its board at some ply, whose turn it is, the moves, the players' thoughts, the values so far.
import { Analysis } from "./analysis.js";
import { Boards, shapeOf } from "./board.js";
import { announce, carefulButton, chip, clockText, gameTitle, get, h, paint, plain, playerName, post, rangeOf, recall, remember } from "./dom.js";
import { factTable } from "./facts.js";
import { follow } from "./live.js";
import { blunders, plot } from "./plot.js";
import { Chooser } from "./seat.js";
import { telling, thinkingPanel } from "./thinking.js";

const ENDS = {
  finished: "The match is over",
  stalled: "The match has stalled: a role has no legal move although it is not over",
  aborted: "The match was aborted",
  stopped: "The match was stopped by its manager",
  resigned: "The match was resigned",
};

const CLOCK_MILLISECONDS = 100;
const KEPT_DRAWINGS = 400;
const SPELLED_AT_ONCE = 60;
const EXPECTED = 4;

function ending(outcome) {
  return ENDS[outcome] ?? `The match is ${outcome}`;
}

/** Sounds like a piece put down. */
function knock() {
  const audio = new AudioContext();
  const tone = new OscillatorNode(audio, { type: "triangle", frequency: 190 });
  const loudness = new GainNode(audio, { gain: 0.25 });
  loudness.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.12);
  tone.connect(loudness).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.12);
  tone.onended = () => audio.close();
}

export class Match {
  constructor(key, ply) {
    this.key = key;
    this.path = `/page/matches/${encodeURIComponent(key)}`;
    this.wanted = ply;
    this.match = null;
    this.steps = [];
    this.drawings = new Map();
    this.drawn = null;
    this.spelled = {};
    this.unspelled = [];

    const button = (text, onclick, kind = "") => h("button", { type: "button", class: kind, onclick }, text);
    const running = () => this.match.outcome === "running";
    this.title = h("h1", {});
    this.meta = h("p", { class: "quiet meta" });

    // Whose turn it is, and what can be done about it.
    this.whose = h("p", { class: "whose" });
    this.state = h("p", { class: "phase" });
    this.waiting = h("progress", { "aria-label": "Getting ready" });
    this.clockFill = h("i", { class: "fill" });
    this.clockMargin = h("i", { class: "kept-back" });
    this.clock = h("div", { class: "clock", role: "timer", "aria-label": "Clock" }, h("div", { class: "track" }, this.clockFill, this.clockMargin));
    this.players = h("ul", { class: "players", "aria-label": "Players" });
    this.hintButton = button("Hint", () => this.hint());
    this.undoButton = button("Take back", () => this.act("undo", { role: this.back() }));
    this.resignButton = carefulButton("Resign", "Really resign?", () => this.act("resign"));
    this.end = carefulButton("End", "End this match?", () => this.another("stop"), running);
    this.actions = h("div", { class: "actions" }, this.hintButton, this.undoButton, this.resignButton, this.end);
    this.message = h("p", { class: "quiet message", role: "status" });
    this.chooser = new Chooser(this);
    this.turn = h("section", { class: "panel turn", "aria-label": "Match" }, this.whose, this.state, this.waiting, this.clock, this.players, this.actions, this.message, this.chooser.element);

    this.boards = new Boards((square) => this.chooser.click(square), (square) => this.chooser.pointAt(square));
    this.boardNote = h("p", { class: "quiet note" });
    this.slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Ply", oninput: () => this.step(Number(this.slider.value)) });
    this.counter = h("span", { class: "counter" });
    const sign = (label, text, act) => h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    this.live = h("a", { class: "button live-link", href: `#/match/${key}` }, "Live");
    this.sound = h("button", { type: "button", "aria-label": "Sound", title: "Sound", "aria-pressed": String(recall("sound") === true), onclick: () => this.toggleSound() }, "♪");
    this.controls = h(
      "nav",
      { class: "controls", "aria-label": "Replay" },
      sign("To the beginning", "«", () => this.step(0)),
      sign("Back", "‹", () => this.go(-1)),
      this.slider,
      sign("Forth", "›", () => this.go(1)),
      sign("To the end", "»", () => this.goLive()),
      this.counter,
      this.live,
      sign("Flip the board", "⇅", () => this.boards.flip()),
      this.sound,
    );
    this.facts = h("details", { class: "panel", hidden: true });
    this.plot = h("section", { class: "panel", "aria-label": "Value over the match", hidden: true });
    this.thoughts = h("div", { class: "thoughts" });
    this.why = h("h2", {});
    this.thinking = h("section", { class: "panel thinking", "aria-label": "What is being thought" }, this.why, this.thoughts);
    this.moveList = h("ol", { class: "moves" });
    this.moves = h("section", { class: "panel", "aria-label": "Moves" }, h("h2", {}, "Moves"), this.moveList);
    this.analysis = new Analysis(this);
    this.errorList = h("ul", { class: "errors" });
    this.errors = h("section", { class: "panel", "aria-label": "Errors of players", hidden: true }, h("h2", {}, "Errors of players"), this.errorList);
    this.again = button("Again", () => this.another("again"));
    this.swap = button("The other side", () => this.another("swap"));
    this.record = h("a", { class: "button", href: `${this.path}/record`, download: `${key}.json` }, "Save the match");
    this.next = h("section", { class: "panel next", "aria-label": "After the match" }, h("div", { class: "actions" }, this.again, this.swap, this.record));

    this.element = h(
      "div",
      { class: "match" },
      h("div", { class: "heading" }, this.title, this.meta),
      h("div", { class: "stage" }, h("section", { class: "panel boards", "aria-label": "Position" }, this.boards.element, this.boardNote, this.controls), this.plot, this.facts),
      h("aside", { class: "side" }, this.turn, this.analysis.element, this.thinking, this.moves, this.errors, this.next),
    );
  }

  open(tell) {
    document.title = "Match – ggp-agent";
    this.stop = follow(this.path, (view) => this.take(view), tell, (message) => {
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
    this.analysis.close();
    clearInterval(this.ticking);
    window.removeEventListener("resize", this.resized);
  }

  // --- data from the server

  take(view) {
    const before = this.match;
    this.match = view;
    // Moves of the last position are no moves of this one; its own come with its drawing.
    if (before?.plies !== view.plies && this.analysis.line === null) this.chooser.take([], {});
    if (before?.outcome !== "running" && before && view.version < before.version) this.steps = [];
    for (const step of view.steps) this.steps[step.ply] = step;
    if (this.steps.length > view.plies + 1) this.drawings.clear();
    this.steps.length = view.plies + 1;
    this.clockAt = performance.now();
    this.showHeading();
    this.showTurn();
    this.showErrors();
    Object.assign(this.element.dataset, { plies: view.plies, outcome: view.outcome });
    this.tick();
    if (before && before.plies !== view.plies && this.wanted === null) this.tellMove();
    if (before && before.plies < view.plies && recall("sound") === true) knock();
    if (view.outcome !== "running" && before?.outcome === "running") announce(`${ending(view.outcome)}. ${this.judge()} ${this.result()}`);
    this.show();
  }

  get last() {
    return this.steps.length - 1;
  }

  get shown() {
    return this.wanted === null ? this.last : Math.min(this.wanted, this.last);
  }

  /** The possible actions of the person at this page in the shown position; null where there are none. */
  get seat() {
    const { seat } = this.match;
    return seat && seat.ply === this.shown ? seat : null;
  }

  showHeading() {
    const { match } = this;
    this.title.replaceChildren(gameTitle(match.game), match.id && match.id !== match.game && !match.id.startsWith(`match.${match.game}.`) ? h("small", { class: "quiet id" }, ` ${match.id}`) : "");
    document.title = `${match.seat ? "Your move – " : ""}${gameTitle(match.game)} – ggp-agent`;
    const [start, play] = match.clocks;
    const began = new Date(1000 * match.began).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    this.meta.textContent = start === null ? "" : this.untimed ? began : `clocks ${start} s and ${play} s · ${began}`;
  }

  /** Shows whose turn it is, or how it ended, and what a person may do. */
  showTurn() {
    const { match } = this;
    const running = match.outcome === "running";
    const counts = this.steps[this.last].legal;
    const waits = match.roles.map((_, index) => (running ? (match.waits?.[index] ?? null) : null));
    this.acting = waits.map((wait, index) => running && (wait ? wait.for === "moves" || (wait.for === "thinks" && (counts[index] ?? 2) > 1) : !match.seat && counts[index] > 1));
    this.clocks = waits.map((wait, index) => (this.untimed ? null : (wait?.clock ?? (this.acting[index] ? match.clock : null))));
    const person = match.players.indexOf("human");
    const alone = person === match.players.lastIndexOf("human");
    const names = match.roles.filter((role, index) => this.acting[index]).map(plain);
    const late = waits.some((wait) => ["starts", "gets ready"].includes(wait?.for));
    const going = match.seat ? (alone ? "Your move" : `Your move: ${names[0]}`) : names.length ? `${names.join(" and ")} to move` : late || match.plies === 0 ? "Getting ready" : "No choice";
    this.whose.textContent = running ? going : this.judge() || ending(match.outcome);
    this.state.textContent = running ? (match.seat ? "" : match.phase) : this.judge() ? ending(match.outcome) : "";
    this.waiting.hidden = !running || going !== "Getting ready" || (match.clock !== null && !this.untimed);
    this.turn.classList.toggle("yours", match.seat !== null);
    this.clockTexts = match.roles.map(() => h("span", { class: "figure" }));
    this.players.replaceChildren(
      ...match.roles.map((role, index) =>
        h(
          "li",
          { class: this.acting[index] ? "acting" : "" },
          chip(index, this.emblems),
          h("span", { class: "role" }, plain(role)),
          h("span", { class: "quiet player" }, playerName(match.players[index]), ["starts", "gets ready"].includes(waits[index]?.for) ? `, ${waits[index].for} …` : ""),
          match.goals.length ? h("span", { class: "figure" }, String(match.goals[index] ?? "no value")) : this.clockTexts[index],
        ),
      ),
    );
    this.hintButton.hidden = !match.seat?.hint;
    this.undoButton.hidden = !running || this.back() === undefined;
    this.resignButton.hidden = !running || person < 0;
    this.end.hidden = !running || !match.again;
    this.actions.hidden = [...this.actions.children].every((child) => child.hidden);
    for (const action of [this.again, this.swap]) action.hidden = running || !match.again;
    this.swap.hidden ||= match.roles.length < 2;
    this.next.hidden = running;
    this.again.classList.toggle("primary", !running);
  }

  /** Returns the role whose last move a person may take back; undefined where there is none. */
  back() {
    const { players, seat, undo } = this.match;
    const people = players.map((player, index) => (player === "human" ? index : -1)).filter((index) => undo?.[index] !== undefined);
    return people.includes(seat?.role) ? seat.role : people[0];
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
    const step = this.steps[this.last];
    if (step?.moves) announce(`Ply ${step.ply}: ${this.spoken(step.moves).map(({ role, move }) => `${role} ${this.say(move)}`).join(", ")}`);
  }

  /** Returns the moves of a joint move without those of waiting roles: plain words beside moves with arguments. */
  spoken(moves) {
    // Moves of others may be hidden.
    const all = moves.map((move, index) => ({ index, role: plain(this.match.roles[index] ?? `role ${index + 1}`), move })).filter(({ move }) => move !== null);
    const acting = all.filter(({ move }) => move.startsWith("("));
    return acting.length ? acting : all;
  }

  /** Writes a move as people do, as soon as the server has told how. */
  say(move) {
    if (!(move in this.spelled)) {
      this.spelled[move] = plain(move);
      this.unspelled.push(move);
      this.spelling ??= this.spell();
    }
    return this.spelled[move];
  }

  async spell() {
    // All that are said now are asked for at once.
    await null;
    while (this.unspelled.length) {
      const moves = JSON.stringify(this.unspelled.splice(0, SPELLED_AT_ONCE));
      // A move that is not told of stays as it is.
      Object.assign(this.spelled, await get(`${this.path}/spelling?moves=${encodeURIComponent(moves)}`).catch(() => ({})));
    }
    this.spelling = null;
    this.showMoves();
    this.showThoughts();
    this.showHint();
    this.analysis.showThought();
  }

  showMoves() {
    const { match, steps } = this;
    const lost = blunders(match.roles, steps);
    const items = steps.slice(1).map((step) => {
      const missed = step.turn - (steps[step.ply - 1]?.turn ?? 0) - 1;
      const made = step.moves ? this.spoken(step.moves) : [];
      const texts = made.map(({ index, role, move }) => [chip(index, this.emblems, role), h("code", {}, this.say(move))]);
      if (!step.moves) texts.push(h("span", { class: "quiet" }, missed ? `${missed} missed, then one not known` : "not known"));
      if (lost.has(step.ply)) texts.push(h("strong", { class: "lost", title: `lost ${Math.round(lost.get(step.ply))}` }, "?"));
      const title = step.moves?.map((move, index) => `${plain(match.roles[index] ?? "")}: ${move === null ? "hidden" : plain(move)}`).join("\n");
      // Two players have a column each.
      const column = match.roles.length === 2 && made.length === 1 ? ` of-${made[0].index}` : "";
      return h("li", { class: column, dataset: { ply: step.ply } }, h("a", { href: `#/match/${this.key}/${step.ply}`, title: title ?? "", "aria-current": step.ply === this.shown ? "step" : null }, h("span", { class: "number" }, String(step.ply)), h("span", { class: "made" }, texts.flat())));
    });
    const { scrollTop, clientHeight } = this.moveList;
    this.moveList.replaceChildren(...items);
    const current = items[this.shown - 1];
    const seen = current && current.offsetTop >= scrollTop && current.offsetTop + current.offsetHeight <= scrollTop + clientHeight;
    this.moveList.scrollTop = seen ? scrollTop : current ? current.offsetTop - clientHeight / 2 : 0;
    this.moves.hidden = !items.length;
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
    const past = (performance.now() - this.clockAt) / 1000;
    const left = clock.left - past;
    const total = Math.max(clock.total, 0.1);
    this.clockFill.style.width = `${(100 * Math.max(0, Math.min(left, total))) / total}%`;
    this.clockMargin.style.width = `${(100 * Math.min(clock.margin, total)) / total}%`;
    this.clock.title = clock.margin ? `of ${total} s; ${clock.margin.toFixed(2)} s are kept back for the way to the manager` : `of ${total} s`;
    this.clockTexts.forEach((text, index) => {
      const own = this.clocks[index];
      text.textContent = own ? clockText(own.left - past) : "";
    });
  }

  // --- the shown position

  goTo(ply) {
    this.wanted = ply;
    if (this.match) this.show();
  }

  goLive() {
    this.analysis.leave();
    this.replace(`#/match/${this.key}`);
  }

  /** Goes some moves on, or back, on the line that is analysed, or on that of the match. */
  go(moves) {
    if (!this.analysis.go(moves)) this.step(this.shown + moves);
  }

  step(ply) {
    if (ply < 0 || ply > this.last) return;
    this.analysis.leave();
    if (ply === this.last && this.match.outcome === "running") this.goLive();
    else this.replace(`#/match/${this.key}/${ply}`);
  }

  replace(hash) {
    if (location.hash !== hash) location.replace(hash);
    else this.show();
  }

  onKey(key) {
    const act = { ArrowLeft: () => this.go(-1), ArrowRight: () => this.go(1), Home: () => this.step(0), End: () => this.goLive(), Escape: () => this.chooser.restart() }[key];
    if (this.match) act?.();
    return act !== undefined;
  }

  show() {
    const { shown, match, last } = this;
    this.slider.max = last;
    this.slider.value = shown;
    this.slider.setAttribute("aria-valuetext", `ply ${shown} of ${last}`);
    this.counter.textContent = `${shown} / ${last}`;
    this.live.hidden = match.outcome !== "running" || this.wanted === null;
    this.showMoves();
    this.plot.hidden = false;
    const drawnPlot = plot(this.plotRoom(), match.roles, this.steps, shown, match.goals, this.range(), (ply) => this.step(ply));
    this.plot.hidden = drawnPlot === null || last === 0;
    this.plot.replaceChildren(h("h2", {}, "Value"), ...(drawnPlot ? [drawnPlot] : []));
    this.showThoughts();
    this.analysis.show();
    this.draw();
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

  /** Shows what is thought about the newest position, or why the move to the shown one was made. */
  showThoughts() {
    const { shown, steps, match } = this;
    const panels = (step) =>
      step === undefined
        ? []
        : match.roles.flatMap((role, index) => (telling(step.thinking[index]) ? [thinkingPanel(role, index, step.thinking[index], this.played(step, index), this)] : []));
    const now = panels(steps[shown]);
    const open = shown === this.last || shown === 0;
    const found = open && now.length ? now : panels(steps[shown - 1]);
    const made = steps[shown].moves ? this.spoken(steps[shown].moves).map(({ move }) => this.say(move)).join(", ") : "";
    this.why.textContent = found === now ? "Thinking" : made ? `Why ${made}` : "Why";
    this.thinking.hidden = !found.length || this.analysis.thinks;
    this.thoughts.replaceChildren(...found);
  }

  /** Fetches the position after a line of joint moves from a ply, or as it was in the match without a line. */
  async fetch(ply, line = null) {
    const step = this.steps[ply];
    const asked = line ? JSON.stringify(line) : this.match.seat?.ply === ply ? this.match.seat.role : "";
    const version = `${ply} ${step.known} ${step.moves} ${this.match.eyes ?? ""} ${asked}`;
    const kept = this.drawings.get(version);
    if (kept) return kept;
    const drawing = await get(`${this.path}/positions/${ply}${line ? `?line=${encodeURIComponent(asked)}` : ""}`);
    drawing.version = version;
    Object.assign(this.spelled, drawing.spelled);
    if (drawing.known) this.drawings.set(version, drawing);
    if (this.drawings.size > KEPT_DRAWINGS) this.drawings.delete(this.drawings.keys().next().value);
    return drawing;
  }

  async draw() {
    const ply = this.shown;
    const { line } = this.analysis;
    const current = () => this.shown === ply && this.analysis.line === line;
    let drawing;
    try {
      drawing = await this.fetch(ply, line);
    } catch (error) {
      if (current()) this.boardNote.textContent = error.message;
      return;
    }
    if (!current()) return;
    if (!drawing.known || this.drawn !== drawing) this.showDrawing(drawing);
    if (line) {
      this.analysis.choose(drawing);
      return;
    }
    const { seat } = this;
    // Buttons get their words before they are shown: nobody presses one that becomes another.
    seat?.moves.forEach((move) => this.say(move));
    await this.spelling;
    if (current()) this.offer(this.turn, seat?.role, seat?.moves ?? [], seat ? drawing.choices : {});
  }

  showDrawing(drawing) {
    const step = this.steps[this.shown];
    const near = this.drawn !== null && Math.abs((this.drawnPly ?? 0) - this.shown) <= 1;
    this.drawn = drawing;
    this.drawnPly = this.shown;
    this.colours = drawing.colours;
    this.emblems ??= drawing.known ? drawing.emblems : null;
    paint(this.element, drawing.colours);
    this.boards.show(drawing, near);
    this.boardNote.textContent = !drawing.known ? "This position is not known yet, or was not kept." : this.analysis.line ? "" : this.sight(step);
    const table = factTable(drawing.rest, drawing.gone);
    this.facts.hidden = table === null;
    // A hand of cards is on no board.
    if (drawing.known && (!drawing.svg.length || (this.match.eyes ?? null) !== null)) this.facts.open = true;
    this.facts.replaceChildren(h("summary", {}, drawing.svg.length ? "Other facts" : "Facts"), ...(table ? [table] : []));
    this.element.dataset.ply = this.shown;
    // The moves may be written better now, and the roles have their pieces.
    this.showMoves();
    this.showTurn();
    this.tick();
  }

  /** Says what is seen of a position that is not known for sure. */
  sight(step) {
    const eyes = this.match.eyes ?? null;
    if (eyes === null) return step.states > 1 ? `The likeliest of ${step.states} states that fit what was told.` : "";
    const seen = (step.percepts[eyes] ?? []).map(plain).join(", ") || "nothing";
    return `You saw: ${seen}. Shown is what holds in ${step.sure ? "all" : "each of"} ${step.states} states that fit what you saw.`;
  }

  // --- a person chooses: the table of `Chooser`

  /** Lets the person choose a role's move, in a place of the page. */
  offer(place, role, moves, choices) {
    // A move is one of this position, also when the page is at another one already.
    this.asked = { ply: this.shown, line: this.analysis.line ?? [], role };
    if (this.chooser.element.parentNode !== place) place.append(this.chooser.element);
    this.chooser.take(moves, choices);
  }

  async play(move) {
    this.chooser.point(null);
    if (this.analysis.line) this.analysis.play(move);
    else await this.act("move", { move, ply: this.asked.ply });
  }

  mark(squares, hinted, begun) {
    // Before anything is chosen, mark the squares with which moves begin.
    const first = [...this.boards.element.querySelectorAll(".first")].map((square) => square.dataset.square).filter((square) => squares.has(square));
    this.boards.mark(begun || !first.length ? squares : new Set(first), hinted);
  }

  /** Shows a move's position as ghosts on the shown one; null ends that. */
  async point(move) {
    this.pointed = move;
    const position = move === null ? null : await this.after(move);
    if (this.pointed === move) this.boards.ghost(position);
  }

  async shape(move) {
    const position = await this.after(move);
    return position ? shapeOf(this.boards.pictures, position) : { cells: 0, svg: null };
  }

  /** Returns the position after a move of the one who chooses; null where others move at the same time. */
  async after(move) {
    const { ply, line, role } = this.asked;
    // Nobody knows what others choose at the same time, or what is hidden.
    const several = Object.values(this.steps[ply].legal).filter((count) => count > 1).length > 1;
    if (this.match.outcome === "running" && (several || (this.match.eyes ?? null) !== null)) return null;
    const joint = this.match.roles.map((_, index) => (index === role ? move : null));
    try {
      return await this.fetch(ply, [...line, joint]);
    } catch {
      return null;
    }
  }

  async act(action, data = {}) {
    const { seat } = this.match;
    this.message.textContent = "";
    try {
      return await post(`${this.path}/${action}`, { ply: this.last, role: seat?.role ?? this.match.players.indexOf("human"), ...data });
    } catch (error) {
      this.message.textContent = error.message;
      return null;
    }
  }

  async hint() {
    const { ply } = this.match.seat;
    this.hintButton.disabled = true;
    const asked = this.act("hint");
    this.message.textContent = "Thinking about it …";
    const found = await asked;
    this.hintButton.disabled = false;
    if (!found || this.seat?.ply !== ply) return;
    this.chooser.hint(found.move);
    this.point(found.move);
    this.hinted = { ply, ...found };
    this.showHint();
  }

  /** Tells the hint, while its position is shown. */
  showHint() {
    const found = this.hinted;
    if (!found || this.seat?.ply !== found.ply) return;
    const value = (found.value ?? null) === null ? "" : `, worth ${Math.round(found.value)}`;
    const line = found.line?.length > 1 ? `; expected: ${found.line.slice(0, EXPECTED).map((move) => this.say(move)).join(" → ")}` : "";
    this.message.textContent = `Hint: ${this.say(found.move)}${value}${line}`;
  }

  /** Ends the match, by `stop`, or begins another one of these rules, by `again` or `swap`, and shows it. */
  async another(action) {
    const asked = this.act(action);
    this.message.textContent = "One moment …";
    const found = await asked;
    if (found) this.message.textContent = "";
    if (found?.key) location.hash = `#/match/${found.key}`;
  }

  toggleSound() {
    const on = recall("sound") !== true;
    remember("sound", on);
    this.sound.setAttribute("aria-pressed", String(on));
    if (on) knock();
  }
}
