// The lobby: a card for each game, from which one click begins a match of a person against the agent.
import { capital, gameTitle, get, h, paint, remember, sides, thumbnail } from "./dom.js";
import { begin, fileButton, openBenchForm, openFile, openMatchForm, strengthControl, usual } from "./setup.js";

const DRAWING_MILLISECONDS = 300;
const PREPARING_MILLISECONDS = 2000;

/** Groups of games; a game stands in the first that takes it. */
const GROUPS = [
  ["Not all is seen", ({ hidden }) => hidden],
  ["For one", ({ roles }) => roles.length === 1],
  ["For two", ({ roles }) => roles.length === 2],
  ["For three and more", () => true],
];

/** The order that groups are shown in. */
const ORDER = [2, 3, 1, 0];

export class Lobby {
  constructor() {
    this.message = h("p", { class: "trouble", role: "alert" });
    this.bar = h("progress", { "aria-label": "Preparation" });
    this.preparing = h("p", { class: "preparing", hidden: true }, this.bar, h("span", {}, "The agent prepares itself for this machine, once. You can play meanwhile; the first match begins a little later."));
    this.given = group("From the command line");
    this.groups = GROUPS.map(([title]) => group(title));
    this.cards = new Map();
    this.taken = 0;
    this.drawing = h("p", { class: "quiet" }, "The games are being set up …");
    this.nothing = h("p", { class: "quiet", role: "status" });
    this.search = h("input", { type: "search", placeholder: "Search ( / )", "aria-label": "Search games", oninput: () => this.filter(), onkeydown: (event) => this.searched(event) });
    this.strengthPlace = h("div", {});
    const files = fileButton("Open a file …", ".kif,.gdl,.txt,.json", (file) => this.open_(file));
    this.element = h(
      "section",
      { class: "lobby", "aria-label": "Games" },
      h("div", { class: "tools" }, this.strengthPlace, h("div", { class: "actions" }, this.search, files, h("a", { class: "button", href: "#/sheet" }, "Write or paste rules")), this.message),
      this.preparing,
      this.nothing,
      this.given.element,
      ORDER.map((index) => this.groups[index].element),
      this.drawing,
    );
  }

  async open() {
    try {
      const found = await get("/page/lobby");
      this.strengthPlace.replaceChildren(strengthControl(found.levels).element);
      if (found.given) this.given.games.append(givenCard(found.given));
      this.given.element.hidden = !found.given;
      this.take(found);
    } catch (error) {
      this.message.textContent = error.message;
      this.drawing.hidden = true;
    }
  }

  close() {
    clearTimeout(this.later);
  }

  /** Shows the games, and how far the preparation of the agent is, until that is done. */
  take(found) {
    const { ready, of } = found.kernels;
    for (const game of found.games.slice(this.taken)) this.add(game, found);
    this.taken = found.games.length;
    this.preparing.hidden = ready >= of;
    this.bar.max = of;
    this.bar.value = ready;
    this.drawing.hidden = !found.drawing;
    const again = async () => this.take(await get("/page/lobby").catch(() => found));
    if (ready < of || found.drawing) this.later = setTimeout(again, found.drawing ? DRAWING_MILLISECONDS : PREPARING_MILLISECONDS);
  }

  /** Adds a game's card, or the game to the card that it is a variant of. */
  add(game, found) {
    const key = game.variant_of ?? game.name;
    let card = this.cards.get(key);
    if (!card) {
      card = new GameCard(found);
      this.cards.set(key, card);
      this.groups[GROUPS.findIndex(([, takes]) => takes(game))].games.append(card.element);
    }
    card.add(game);
    this.filter();
  }

  /** Shows the cards whose games hold all words searched for. */
  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const card of this.cards.values()) {
      card.element.hidden = !words.every((word) => card.text.includes(word));
      shown += !card.element.hidden;
    }
    for (const { games, element } of this.groups) element.hidden = ![...games.children].some((card) => !card.hidden);
    this.nothing.textContent = shown || !this.cards.size ? "" : "No game has these words.";
  }

  /** Enter leads from the search to the first game found, Escape ends it. */
  searched(event) {
    if (event.key === "Enter") this.element.querySelector(".game:not([hidden]) .play")?.focus();
    else if (event.key !== "Escape") return;
    else this.search.value = "";
    this.filter();
    event.preventDefault();
  }

  onKey(key) {
    if (key !== "/") return false;
    this.search.focus();
    return true;
  }

  async open_(file) {
    this.message.textContent = "";
    try {
      await openFile(file, (sheet) => {
        remember("sheet", sheet);
        location.hash = "#/sheet";
      });
    } catch (error) {
      this.message.textContent = error.message;
    }
  }
}

/** A group of cards under a heading, hidden while it is empty. */
function group(title) {
  const games = h("div", { class: "games" });
  return { games, element: h("section", { hidden: true, "aria-label": title }, h("h2", {}, title), games) };
}

function givenCard({ name }) {
  return h("article", { class: "game given" }, h("div", {}, h("h3", {}, gameTitle(name)), h("div", { class: "actions" }, h("a", { class: "button primary", href: `#/sheet/${encodeURIComponent(name)}` }, "Look at it"))));
}

/** The card of a game, on which one of its variants is chosen where it has some. */
class GameCard {
  constructor({ levels, games }) {
    this.levels = levels;
    this.others = games;
    this.games = [];
    this.text = "";
    this.message = h("p", { class: "trouble", role: "alert" });
    this.variants = h("select", { hidden: true, onchange: () => this.show(this.games[this.variants.selectedIndex]) });
    this.element = h("article", { class: "game" });
  }

  add(game) {
    // The game itself comes before its variants.
    if (game.variant_of === null) this.games.unshift(game);
    else this.games.push(game);
    this.text += ` ${gameTitle(game.name)} ${game.sentence} ${game.variant ?? ""}`.toLowerCase();
    this.variants.replaceChildren(...this.games.map(({ variant }) => h("option", {}, capital(variant ?? "usual rules"))));
    this.variants.hidden = this.games.length === 1;
    this.show(this.games[0]);
  }

  show(game) {
    const { name, sentence, roles, picture } = game;
    const title = gameTitle(name);
    const spoken = h("span", { class: "unseen" }, ` ${title}`);
    const play = h("button", { type: "button", class: "primary play", onclick: () => this.play(play, game) }, "Play", spoken);
    this.message.textContent = "";
    this.variants.setAttribute("aria-label", `Variant of ${gameTitle(this.games[0].name)}`);
    this.element.dataset.game = name;
    this.element.replaceChildren(
      h("div", { class: "thumbnail", "aria-hidden": "true" }, thumbnail(picture)),
      h("div", { class: "words" }, h("h3", {}, title), h("p", { class: "sentence" }, sentence), sides(roles, picture?.emblems), this.variants),
      h(
        "div",
        { class: "actions" },
        play,
        h("button", { type: "button", onclick: () => openMatchForm(title, { name }, roles, this.levels, picture ?? undefined) }, "Set up …", spoken.cloneNode(true)),
        h("span", { class: "more" }, h("a", { href: `#/sheet/${encodeURIComponent(name)}` }, "Rules", spoken.cloneNode(true)), h("button", { type: "button", class: "link", onclick: () => openBenchForm(`Bench of ${title}`, { name }, this.others.filter((other) => other.name !== name)) }, "Bench", spoken.cloneNode(true))),
      ),
      this.message,
    );
    if (picture) paint(this.element, picture.colours);
  }

  async play(button, { name, roles }) {
    this.message.textContent = "";
    button.disabled = true;
    try {
      await begin({ name }, usual(roles));
    } catch (error) {
      this.message.textContent = error.message;
    }
    button.disabled = false;
  }
}
