// The lobby: a card for each game, from which one click begins a match of a person against the agent.
import { get, h, paint, remember, sides, thumbnail } from "./dom.js";
import { begin, fileButton, openBenchForm, openFile, openMatchForm, strengthControl, usual } from "./setup.js";

const AGAIN_MILLISECONDS = 2000;

export class Lobby {
  constructor() {
    this.message = h("p", { class: "trouble", role: "alert" });
    this.bar = h("progress", { "aria-label": "Preparation" });
    this.preparing = h("p", { class: "preparing", hidden: true }, this.bar, h("span", {}, "The agent prepares itself for this machine, once. You can play meanwhile; the first match begins a little later."));
    this.cards = h("div", { class: "games" });
    this.shown = 0;
    this.drawing = h("p", { class: "quiet" }, "The games are being set up …");
    this.strengthPlace = h("div", {});
    const files = fileButton("Open a file …", ".kif,.gdl,.txt,.json", (file) => this.open_(file));
    this.element = h(
      "section",
      { class: "lobby", "aria-labelledby": "games-title" },
      h("h2", { id: "games-title", class: "unseen" }, "Games"),
      h("div", { class: "tools" }, this.strengthPlace, h("div", { class: "actions" }, files, h("a", { class: "button", href: "#/sheet" }, "Write or paste rules"))),
      this.preparing,
      this.message,
      this.drawing,
      this.cards,
    );
  }

  async open() {
    try {
      const found = await get("/page/lobby");
      this.strengthPlace.replaceChildren(strengthControl(found.levels).element);
      if (found.given) this.cards.append(this.givenCard(found.given));
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
    this.cards.append(...found.games.slice(this.shown).map((game) => this.card(game, found)));
    this.shown = found.games.length;
    this.preparing.hidden = ready >= of;
    this.bar.max = of;
    this.bar.value = ready;
    this.drawing.hidden = !found.drawing;
    if (ready < of || found.drawing) this.later = setTimeout(async () => this.take(await get("/page/lobby").catch(() => found)), AGAIN_MILLISECONDS);
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

  givenCard({ name }) {
    return h("article", { class: "game given" }, h("div", {}, h("h3", {}, name), h("p", { class: "quiet" }, "The rulesheet of the command line."), h("div", { class: "actions" }, h("a", { class: "button primary", href: `#/sheet/${encodeURIComponent(name)}` }, "Look at it"))));
  }

  card(game, { levels, games }) {
    const { name, title, sentence, roles, picture } = game;
    const spoken = h("span", { class: "unseen" }, ` ${title}`);
    const play = h("button", { type: "button", class: "primary play", onclick: () => this.play(play, game) }, "Play", spoken);
    const element = h(
      "article",
      { class: "game", dataset: { game: name } },
      h("div", { class: "thumbnail", "aria-hidden": "true" }, thumbnail(picture)),
      h("div", { class: "words" }, h("h3", {}, title), h("p", { class: "sentence" }, sentence), sides(roles)),
      h(
        "div",
        { class: "actions" },
        play,
        h("button", { type: "button", onclick: () => openMatchForm(title, { name }, roles, levels, picture?.colours) }, "Set up …", spoken.cloneNode(true)),
        h("span", { class: "more" }, h("a", { href: `#/sheet/${encodeURIComponent(name)}` }, "Rules", spoken.cloneNode(true)), h("button", { type: "button", class: "link", onclick: () => openBenchForm(`Bench of ${title}`, { name }, games.filter((other) => other !== game)) }, "Bench", spoken.cloneNode(true))),
      ),
    );
    if (picture) paint(element, picture.colours);
    return element;
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
