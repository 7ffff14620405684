// A tournament: its progress, the table, each player's goals by game and by opponent, its matches.
import { announce, gameTitle, get, h, plain, rangeOf } from "./dom.js";
import { follow } from "./live.js";
import { interval } from "./plot.js";

/** Formats a time in its two largest units. */
export function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

const one = (number) => (number === null || number === undefined ? "–" : number.toFixed(1));
const signed = (number) => `${number > 0 ? "+" : ""}${Math.round(number)}`.replace("-", "−");
const unseen = (text) => h("span", { class: "unseen" }, text);
const count = (number, word, words) => `${number} ${number === 1 ? word : words}`;

/** Makes the place of a table that may be wider than the page. */
export function scroll(label) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label });
}

export class Tournament {
  constructor(key) {
    this.key = key;
    this.chosen = { game: null, player: null };
    this.played = -1;
    this.title = h("h1", {}, "Tournament");
    this.state = h("p", { class: "quiet state", role: "status" });
    this.bar = h("progress", { "aria-label": "Matches played" });
    this.standings = scroll("Table");
    this.byGame = scroll("Goals by game");
    this.byOpponent = scroll("Against each other");
    this.opponents = h("section", { class: "panel", "aria-label": "Against each other" }, h("h2", {}, "Against each other"), this.byOpponent);
    this.shownMatches = h("p", { class: "quiet" });
    this.every = h("button", { type: "button", hidden: true, onclick: () => this.choose(null, null) }, "All matches");
    this.list = scroll("Matches");
    this.element = h(
      "div",
      { class: "tournament" },
      h("div", { class: "heading" }, this.title, this.state),
      this.bar,
      h("section", { class: "panel", "aria-label": "Table" }, h("h2", {}, "Table"), this.standings),
      h("section", { class: "panel", "aria-label": "Goals by game" }, h("h2", {}, "Goals by game"), this.byGame),
      this.opponents,
      h("section", { class: "panel", "aria-label": "Matches" }, h("h2", {}, "Matches"), h("div", { class: "controls" }, this.shownMatches, this.every), this.list),
    );
  }

  open(tell) {
    document.title = "Tournament – ggp-agent";
    this.stop = follow(`/page/tournaments/${encodeURIComponent(this.key)}`, (view) => this.take(view), tell);
  }

  close() {
    this.stop?.();
  }

  take(view) {
    this.view = view;
    const { played, planned, running } = view;
    this.title.textContent = view.title;
    document.title = `${view.title} – ggp-agent`;
    const left = running && view.seconds_left !== null ? `, ${duration(view.seconds_left)} left` : "";
    const of = planned === null || (!running && planned === played) ? count(played, "match", "matches") : `${played} of ${planned} matches`;
    const stalled = view.stalled ? `, ${view.stalled} without a result` : "";
    this.state.textContent = running && planned === null ? "setting up" : `${of}${left}${stalled}${running ? "" : " · over"}`;
    this.bar.hidden = !running;
    if (planned !== null) {
      this.bar.max = Math.max(1, planned);
      this.bar.value = played;
    }
    this.element.dataset.played = played;
    this.element.dataset.running = running;
    this.standings.replaceChildren(this.table());
    this.byGame.replaceChildren(this.games());
    this.opponents.hidden = view.table.length < 2;
    this.byOpponent.replaceChildren(this.against());
    if (!running) announce(`The tournament is over: ${view.table[0]?.player ?? "nobody"} leads.`);
    if (played !== this.played) {
      this.played = played;
      this.showMatches();
    }
  }

  table() {
    const heads = [["#", "number"], ["player", ""], ["roles", "number"], ["goals", "number"], ["95 %", ""], ["+ = −", "number"], ["Elo", "number"], ["95 %", "number"], ["errors", ""]];
    const range = rangeOf(this.view.table.flatMap(({ goals }) => [goals.low, goals.high]));
    const rows = this.view.table.map((line, index) => {
      const { goals, elo } = line;
      const errors = Object.entries(line.errors).map(([kind, number]) => `${number} ${kind}`);
      return h(
        "tr",
        { dataset: { player: line.player } },
        h("td", { class: "number" }, String(index + 1)),
        h("th", { scope: "row" }, line.player, line.is === line.player ? null : h("span", { class: "quiet is" }, line.is)),
        h("td", { class: "number" }, String(goals.seats)),
        h("td", { class: "number mean" }, one(goals.average)),
        h("td", {}, h("span", { class: "figure range" }, goals.average === null ? "–" : `${one(goals.low)} … ${one(goals.high)}`), interval({ ...goals, value: goals.average }, range)),
        h("td", { class: "number" }, `${line.wins} ${line.draws} ${line.losses}`),
        h("td", { class: "number elo" }, elo ? signed(elo.elo) : "–"),
        h("td", { class: "number" }, elo ? `${signed(elo.low)} … ${signed(elo.high)}` : "–"),
        h("td", {}, errors.join(", ") || "0"),
      );
    });
    return grid("standings", heads, rows);
  }

  games() {
    const heads = [["player", ""], ...this.view.games.map((game) => [gameTitle(game), "number"])];
    const rows = this.view.table.map((line) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, line.player),
        ...this.view.games.map((game) => {
          const goals = line.goals_by_game[game];
          if (!goals || goals.average === null) return h("td", { class: "number quiet" }, "–");
          return h(
            "td",
            { class: "number" },
            h(
              "button",
              { type: "button", class: "cell", onclick: () => this.choose(game, line.player) },
              unseen(`Matches of ${line.player} in ${game}: `),
              h("strong", {}, one(goals.average)),
              unseen(", 95 % interval "),
              h("span", { class: "quiet" }, `${one(goals.low)} … ${one(goals.high)}`),
            ),
          );
        }),
      ),
    );
    return grid("crosstable", heads, rows);
  }

  against() {
    const players = this.view.table.map((line) => line.player);
    const heads = [["+ = − of", ""], ...players.map((player) => [`against ${player}`, "number"])];
    const rows = this.view.table.map((line) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, line.player),
        ...players.map((other) => {
          const score = line.against[other];
          return h("td", { class: `number${score ? "" : " quiet"}` }, score ? `${score.wins} ${score.draws} ${score.losses}` : "–");
        }),
      ),
    );
    return grid("opponents", heads, rows);
  }

  choose(game, player) {
    this.chosen = { game, player };
    this.showMatches();
    if (player !== null) this.list.scrollIntoView({ block: "nearest" });
  }

  async showMatches() {
    const { game, player } = this.chosen;
    const query = new URLSearchParams();
    if (game !== null) query.set("game", game);
    if (player !== null) query.set("player", player);
    let found;
    try {
      found = await get(`/page/tournaments/${encodeURIComponent(this.key)}/matches?${query}`);
    } catch (error) {
      this.shownMatches.textContent = error.message;
      return;
    }
    if (this.chosen.game !== game || this.chosen.player !== player) return;
    const which = player === null ? "" : ` of ${player} in ${gameTitle(game)}`;
    const part = found.matches.length < found.count ? `, the last ${found.matches.length} of them` : "";
    this.shownMatches.textContent = `${count(found.count, "match", "matches")}${which}${part}`;
    this.every.hidden = player === null;
    const rows = found.matches.map((match) =>
      h(
        "tr",
        {},
        h("td", {}, gameTitle(match.game)),
        h("td", { class: "number" }, String(match.round)),
        h(
          "td",
          { class: "seats" },
          ...match.seats.map((seat) =>
            h(
              "span",
              { class: "at" },
              h("span", { class: "quiet" }, plain(seat.role)),
              ` ${seat.player} `,
              h("strong", { class: "figure" }, seat.goal === null ? "–" : String(seat.goal)),
            ),
          ),
        ),
        h("td", { class: "number" }, String(match.plies)),
        h("td", {}, [match.outcome === "stalled" ? "stalled" : null, match.errors ? count(match.errors, "error", "errors") : null].filter(Boolean).join(", ")),
        h("td", {}, match.key === null ? null : h("a", { href: `#/match/${match.key}`, "aria-label": `Replay of ${match.game}, round ${match.round}` }, "replay")),
      ),
    );
    const heads = [["game", ""], ["round", "number"], ["players and goals", ""], ["plies", "number"], ["", ""], ["", ""]];
    this.list.replaceChildren(grid("played", heads, rows));
  }
}

function grid(name, heads, rows) {
  const head = h("tr", {}, ...heads.map(([text, kind]) => h(text ? "th" : "td", text ? { scope: "col", class: kind } : {}, text)));
  return h("table", { class: `results ${name}` }, h("thead", {}, head), h("tbody", {}, ...rows));
}
