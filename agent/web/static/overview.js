// All matches, running and finished; where there is a lobby, its games and benches as well.
import { carefulButton, chip, clockText, gameTitle, get, h, paint, plain, playerName, post, thumbnail } from "./dom.js";
import { follow } from "./live.js";
import { Lobby } from "./lobby.js";

const THUMBNAIL_SECONDS = 2;

const ENDS = {
  finished: "finished",
  stalled: "stalled: a role had no legal move",
  aborted: "aborted",
  stopped: "stopped by its manager",
  resigned: "resigned",
};

export class Overview {
  constructor() {
    this.way = "#/";
    this.cards = new Map();
    this.running = h("div", { class: "cards" });
    this.over = h("div", { class: "cards" });
    this.runningSection = h("section", { "aria-labelledby": "running-title" }, h("h2", { id: "running-title" }, "Running"), this.running);
    this.overSection = h("section", { "aria-labelledby": "over-title" }, h("h2", { id: "over-title" }, "Finished"), this.over);
    this.tournaments = h("div", { class: "cards" });
    this.tournamentSection = h("section", { "aria-labelledby": "tournaments-title", hidden: true }, h("h2", { id: "tournaments-title" }, "Tournaments"), this.tournaments);
    this.benches = h("div", { class: "cards" });
    this.benchSection = h("section", { "aria-labelledby": "benches-title", hidden: true }, h("h2", { id: "benches-title" }, "Benches"), this.benches);
    this.lobby = null;
    this.heading = h("h1", {}, "Matches");
    this.lobbyPlace = h("div", { hidden: true });
    this.empty = h(
      "div",
      { class: "empty" },
      h("p", {}, "No match yet."),
      h("p", { class: "quiet" }, "As soon as a game manager sends START, the match appears here."),
    );
    this.day = h("section", { class: "panel day", "aria-label": "Server", hidden: true });
    this.element = h("div", { class: "overview" }, this.heading, this.day, this.empty, this.tournamentSection, this.runningSection, this.lobbyPlace, this.benchSection, this.overSection);
    this.seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        entry.target.card.visible = entry.isIntersecting;
        if (entry.isIntersecting) entry.target.card.draw();
      }
    });
  }

  open(tell) {
    document.title = "Matches – ggp-agent";
    this.stop = follow("/page/matches", (data) => this.take(data), tell);
    this.ticking = setInterval(() => this.showDay(), 1000);
  }

  onKey(key) {
    return this.lobby?.onKey(key);
  }

  close() {
    this.stop?.();
    clearInterval(this.ticking);
    this.lobby?.close();
    this.seen.disconnect();
  }

  take({ matches, tournaments, benches, server }) {
    this.server = server;
    this.live = matches.filter((match) => match.outcome === "running");
    this.takenAt = performance.now();
    this.showDay();
    if (benches && !this.lobby) this.enter();
    this.benchSection.hidden = !benches?.length;
    this.benches.replaceChildren(...(benches ?? []).map(benchCard));
    this.tournamentSection.hidden = tournaments.length === 0;
    this.tournaments.replaceChildren(...tournaments.map(tournamentCard));
    const running = matches.filter((match) => match.outcome === "running");
    const over = matches.filter((match) => match.outcome !== "running");
    this.empty.hidden = matches.length + tournaments.length > 0 || this.lobby !== null;
    this.runningSection.hidden = running.length === 0;
    this.overSection.hidden = over.length === 0;
    this.place(this.running, running);
    this.place(this.over, over);
    const keys = new Set(matches.map((match) => match.key));
    for (const [key, card] of this.cards) {
      if (!keys.has(key)) {
        card.element.remove();
        this.cards.delete(key);
      }
    }
  }

  /** Shows how a server is doing: what its organiser looks at while matches run. */
  showDay() {
    this.day.hidden = !this.server;
    if (!this.server || document.hidden) return;
    const { lateness, margin, memory, troubles } = this.server;
    const milliseconds = (seconds) => `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
    const megabytes = (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`;
    const told = Object.entries(troubles).filter(([, count]) => count);
    const since = (performance.now() - this.takenAt) / 1000;
    const figures = [
      ["Lateness", lateness.latest.length ? `${milliseconds(lateness.largest)} at most; latest ${lateness.latest.slice(-3).map(milliseconds).join(", ")}` : "no answer yet"],
      ["Margin", milliseconds(margin)],
      ["Memory", `server ${megabytes(memory.server)}, workers ${megabytes(memory.workers)}`],
      ["Trouble", told.map(([name, count]) => `${name}: ${count}`).join(", ") || "none"],
      ...this.live.map(({ game, roles, own, clocks, clock, phase }) => [
        gameTitle(game),
        `as ${own.map((index) => plain(roles[index])).join(", ")}; clocks ${clocks.join(" and ")} s; ${clock ? `answer due in ${clockText(clock.left - since)}` : phase}`,
      ]),
    ];
    this.day.replaceChildren(h("dl", {}, figures.flatMap(([name, text]) => [h("dt", {}, name), h("dd", { class: "figure" }, text)])));
  }

  enter() {
    this.lobby = new Lobby();
    this.heading.textContent = "Play a game";
    document.title = "Play – ggp-agent";
    this.lobbyPlace.hidden = false;
    this.lobbyPlace.replaceChildren(this.lobby.element);
    this.lobby.open();
  }

  place(list, matches) {
    matches.forEach((match, index) => {
      let card = this.cards.get(match.key);
      if (!card) {
        card = new Card(match, this.lobby !== null);
        this.cards.set(match.key, card);
        this.seen.observe(card.element);
      }
      card.take(match);
      if (list.children[index] !== card.element) list.insertBefore(card.element, list.children[index] ?? null);
    });
  }
}

function tournamentCard(tournament) {
  const { played, planned, running } = tournament;
  const matches = planned === null || planned === played ? `${played} matches` : `${played} of ${planned} matches`;
  return h(
    "a",
    { class: `card wide${running ? " live" : ""}`, href: `#/tournament/${tournament.key}` },
    h("div", {}, h("h3", {}, tournament.title), h("p", { class: "state" }, matches), h("p", {}, tournament.players.join(", ")), h("p", { class: "quiet" }, tournament.games.join(", "))),
  );
}

function benchCard(bench) {
  return h("a", { class: `card wide${bench.done ? "" : " live"}`, href: `#/bench/${bench.key}` }, h("div", {}, h("h3", {}, bench.games.map(gameTitle).join(" and ")), h("p", { class: "state" }, bench.done ? "done" : "running")));
}

class Card {
  /** `ends` is whether the match can be ended here. */
  constructor(match, ends) {
    this.visible = false;
    this.drawn = -1;
    this.drawnAt = -Infinity;
    this.later = null;
    this.picture = h("div", { class: "thumbnail", "aria-hidden": "true" });
    this.title = h("a", { href: `#/match/${match.key}` });
    this.state = h("p", { class: "state" });
    this.roles = h("ul", { class: "roles" });
    this.end = ends ? carefulButton("End", "Really end?", () => this.stop()) : null;
    this.element = h("article", { class: "card" }, this.picture, h("div", {}, h("h3", {}, this.title), this.state, this.roles, this.end));
    this.element.card = this;
  }

  take(match) {
    this.match = match;
    this.element.classList.toggle("live", match.outcome === "running");
    this.title.textContent = gameTitle(match.game);
    if (this.end) this.end.hidden = match.outcome !== "running";
    const plies = `${match.plies} ${match.plies === 1 ? "ply" : "plies"}`;
    this.state.textContent =
      match.outcome === "running" ? `${match.phase || "running"} · ${plies}` : `${ENDS[match.outcome] ?? match.outcome} · ${plies} · ${when(match.began)}`;
    this.showRoles();
    this.draw();
  }

  showRoles() {
    const { match } = this;
    this.roles.replaceChildren(
      ...match.roles.map((role, index) => {
        const goal = match.goals[index];
        const value = match.goals.length ? (goal ?? "no value") : match.values[index];
        const figure = value === null || value === undefined ? "" : match.goals.length ? String(value) : `≈ ${Math.round(value)}`;
        return h(
          "li",
          {},
          chip(index, this.emblems),
          h("span", { class: "role" }, plain(role)),
          h("span", { class: "quiet player" }, playerName(match.players[index])),
          h("span", { class: "figure" }, figure),
        );
      }),
    );
  }

  async stop() {
    this.end.disabled = true;
    try {
      await post(`/page/matches/${this.match.key}/stop`, {});
    } catch (error) {
      this.state.textContent = error.message;
    }
    this.end.disabled = false;
  }

  async draw() {
    const { key, plies, outcome } = this.match;
    if (!this.visible || this.drawn === plies || this.later !== null || !this.element.isConnected) return;
    const wait = this.drawnAt + 1000 * THUMBNAIL_SECONDS - performance.now();
    if (outcome === "running" && wait > 0) {
      this.later = setTimeout(() => {
        this.later = null;
        this.draw();
      }, wait);
      return;
    }
    this.drawn = plies;
    this.drawnAt = performance.now();
    try {
      const position = await get(`/page/matches/${key}/positions/${plies}`);
      paint(this.element, position.colours);
      this.emblems = position.emblems;
      this.showRoles();
      this.picture.replaceChildren(thumbnail(position));
      if (!position.known && outcome === "running") this.drawn = -1;
      if (this.match.plies !== plies) this.draw();
    } catch {
      this.drawn = -1;
    }
  }
}

function when(seconds) {
  return new Date(1000 * seconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
