// A rulesheet beside its first position: the text is checked as it is typed, and can be played and benched.
import { boards, capital, gameTitle, get, h, paint, post, recall, remember, sides } from "./dom.js";
import { factTable } from "./facts.js";
import { begin, fileButton, openBenchForm, openFile, openMatchForm, usual } from "./setup.js";

const PAUSE_MILLISECONDS = 400;

export class Sheet {
  /** `name` is one of the lobby's sheets; null for the person's own. */
  constructor(name) {
    this.way = name === null ? "#/sheet" : `#/sheet/${encodeURIComponent(name)}`;
    this.name = name;
    this.store = name === null ? "sheet" : `sheet:${name}`;
    this.title = h("h1", {}, gameTitle(name ?? "rules"));
    this.games = [];
    this.levels = [];
    this.roles = [];
    this.checking = false;
    this.closed = false;

    this.numbers = h("pre", { class: "numbers", "aria-hidden": "true" });
    this.marks = h("pre", { class: "marks", "aria-hidden": "true" });
    this.area = h("textarea", {
      class: "text", wrap: "off", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "Rulesheet", "aria-describedby": "verdict",
      placeholder: "(role white)\n(role black)\n…",
      oninput: () => this.edited(),
      onscroll: () => this.scrolled(),
    });
    this.verdict = h("p", { id: "verdict", class: "state", role: "status" });
    this.list = h("ul", { class: "diagnostics", "aria-label": "Errors and warnings" });
    this.message = h("p", { class: "trouble", role: "alert" });
    const button = (text, onclick, kind = "") => h("button", { type: "button", class: kind, onclick }, text);
    this.play = button("Play", () => this.tell(() => begin(this.sheet(), usual(this.roles))), "primary");
    this.setUp = button("Set up …", () => openMatchForm(this.title.textContent, this.sheet(), this.roles, this.levels, this.picture));
    this.bench = button("Bench …", () => openBenchForm(`Bench of ${this.title.textContent}`, this.sheet(), this.games));
    this.revert = button("As it was", () => this.put(this.base, true));
    this.revert.hidden = true;
    this.links = h("p", { class: "quiet begin-with" });
    this.diagram = h("div", { class: "diagram" });
    this.note = h("p", { class: "quiet note" });
    this.sides = h("div", {});
    this.facts = h("div", {});
    this.position = h("section", { class: "panel position", "aria-label": "First position" }, h("h2", {}, "First position"), this.diagram, this.note, this.sides, h("div", { class: "actions" }, this.play, this.setUp, this.bench), this.message, this.facts);
    const files = fileButton("Open …", ".kif,.gdl,.txt,.json", (file) => this.tell(() => openFile(file, (sheet) => this.take(sheet))));
    this.element = h(
      "div",
      { class: "sheet" },
      h("div", { class: "heading" }, this.title, h("div", { class: "actions" }, files, button("Save", () => this.save()), this.revert)),
      h(
        "section",
        { class: "panel writing", "aria-label": "Rules" },
        h("div", { class: "editor" }, this.numbers, h("div", { class: "page" }, this.marks, this.area)),
        this.links,
        this.verdict,
        this.list,
      ),
      this.position,
    );
    this.show(null);
  }

  async open(tell) {
    document.title = `${this.title.textContent} – ggp-agent`;
    tell("");
    const draft = recall(this.store);
    if (this.name === null) this.take(draft ?? { name: "rules", text: "" });
    // Nothing is written into a text that is still to come.
    this.area.readOnly = this.name !== null;
    try {
      const found = await get("/page/lobby");
      this.games = found.games;
      this.levels = found.levels;
      if (this.name !== null) {
        const { text } = found.given?.name === this.name ? found.given : await get(`/page/lobby/sheets/${encodeURIComponent(this.name)}`);
        this.base = text;
      }
      this.links.replaceChildren("Paste a rulesheet, or begin with the rules of ", ...this.games.flatMap(({ name }, index) => [index ? ", " : "", h("a", { href: `#/sheet/${encodeURIComponent(name)}` }, gameTitle(name))]), ".");
    } catch (error) {
      this.message.textContent = error.message;
    }
    this.area.readOnly = false;
    // Changes of a text that is another one meanwhile are worth nothing.
    if (this.name !== null) this.put(draft?.base === this.base ? draft.text : (this.base ?? ""));
  }

  close() {
    this.closed = true;
    clearTimeout(this.later);
  }

  /** Takes a sheet of the person's own. */
  take({ name, text }) {
    if (this.name !== null) {
      remember("sheet", { name, text });
      location.hash = "#/sheet";
      return;
    }
    this.own = name;
    this.title.textContent = text ? name : "Rules";
    this.put(text, true);
  }

  /** Returns what is played: the lobby's sheet, unless its text was changed. */
  sheet() {
    const text = this.area.value;
    const known = text === this.base && this.games.some(({ name }) => name === this.name);
    return known ? { name: this.name } : { name: this.name ?? this.own, text };
  }

  put(text, keep = false) {
    this.area.value = text;
    if (keep) this.keep();
    this.number();
    this.later = setTimeout(() => this.check());
  }

  keep() {
    const text = this.area.value;
    remember(this.store, this.name === null ? { name: this.own, text } : { base: this.base, text });
  }

  edited() {
    this.keep();
    this.number();
    this.marks.replaceChildren();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.check(), PAUSE_MILLISECONDS);
  }

  async tell(act) {
    this.message.textContent = "";
    try {
      await act();
    } catch (error) {
      this.message.textContent = error.message;
    }
  }

  save() {
    const link = h("a", { href: URL.createObjectURL(new Blob([this.area.value], { type: "text/plain" })), download: `${this.sheet().name}.kif` });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // --- the check

  /** Checks the text; one check at a time, the newest text last. */
  async check() {
    if (this.checking) return;
    this.checking = true;
    let text = null;
    while (!this.closed && text !== this.area.value) {
      text = this.area.value;
      if (!text.trim()) {
        this.show(null);
        continue;
      }
      this.element.dataset.state = "checking";
      try {
        const found = await post("/page/lobby/check", { text });
        if (text === this.area.value) this.show(found);
      } catch (error) {
        this.show({ diagnostics: [{ severity: "error", message: error.message, line: null, column: null, excerpt: "" }], roles: null, picture: null });
      }
    }
    this.checking = false;
  }

  /** Shows what a check has found; null where there is no text. */
  show(found) {
    const diagnostics = found?.diagnostics ?? [];
    const errors = diagnostics.filter(({ severity }) => severity === "error").length;
    const count = (number, word) => (number ? [`${number} ${word}${number === 1 ? "" : "s"}`] : []);
    this.element.dataset.state = found === null ? "empty" : errors ? "wrong" : "well";
    this.verdict.textContent = found === null ? "" : [...count(errors, "error"), ...count(diagnostics.length - errors, "warning")].join(", ") || "No errors.";
    this.links.hidden = found !== null;
    this.list.hidden = !diagnostics.length;
    this.list.replaceChildren(...diagnostics.map((one) => this.item(one)));
    this.mark(diagnostics);
    for (const button of [this.play, this.setUp, this.bench]) button.disabled = found === null || errors > 0;
    this.revert.hidden = this.base === undefined || this.area.value === this.base;
    this.position.classList.toggle("stale", errors > 0);
    if (errors) {
      this.note.textContent = this.diagram.hasChildNodes() ? "As it was before the error." : "It is drawn when there are no errors.";
      return;
    }
    this.roles = found?.roles ?? [];
    this.sides.replaceChildren(...(this.roles.length ? [sides(this.roles, found.picture?.emblems)] : []));
    const { picture } = found ?? {};
    this.diagram.replaceChildren(...(picture ? boards(picture) : []));
    this.picture = picture ?? undefined;
    if (picture) paint(this.position, picture.colours);
    const table = picture ? factTable(picture.rest.map(([text]) => [text, false]), []) : null;
    this.facts.replaceChildren(...(table ? [h("h2", {}, picture.svg.length ? "Other facts" : "Facts"), table] : []));
    this.note.textContent = found === null ? "It is drawn here." : picture ? "" : "The rules are right, but the first position could not be drawn in time.";
  }

  item({ severity, message, line, column, excerpt }) {
    const place = line === null ? null : h("button", { type: "button", class: "link", onclick: () => this.goTo(line, column) }, `line ${line}, column ${column}`);
    return h("li", { class: severity }, h("p", {}, h("strong", {}, capital(severity)), " ", place, place && ": ", message), excerpt ? h("pre", {}, this.around(excerpt)) : null);
  }

  /** Cuts a long line with a caret below to the part around the caret. */
  around(excerpt) {
    const room = Math.max(24, Math.floor((this.area.clientWidth || 600) / 9));
    const indented = excerpt.replace(/\n$/, "").split("\n");
    const indent = Math.min(...indented.map((text) => text.search(/\S|$/)));
    const lines = indented.map((text) => text.slice(indent));
    const at = (lines[1] ?? "").indexOf("^");
    const from = lines[0].length > room && at > room / 2 ? Math.min(at - Math.floor(room / 2), lines[0].length - room) : 0;
    return lines.map((text) => text.slice(from, from + room)).join("\n");
  }

  goTo(line, column) {
    const place = this.area.value.split("\n").slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + (column ?? 1) - 1;
    this.area.focus();
    this.area.setSelectionRange(place, place);
    this.area.scrollTop = (line - 4) * parseFloat(getComputedStyle(this.area).lineHeight);
  }

  // --- the text's margin, and the marked places below it

  number() {
    const lines = this.area.value.split("\n").length;
    if (this.numbers.children.length === lines) return;
    this.numbers.replaceChildren(...Array.from({ length: lines }, (_, index) => h("span", {}, `${index + 1}\n`)));
    this.scrolled();
  }

  mark(diagnostics) {
    for (const marked of this.numbers.querySelectorAll("[class]")) marked.removeAttribute("class");
    const lines = this.area.value.split("\n");
    const places = new Map();
    for (const { line, column, severity } of diagnostics) {
      if (line === null || line > lines.length || places.get(line)?.severity === "error") continue;
      places.set(line, { column, severity });
      this.numbers.children[line - 1]?.setAttribute("class", severity);
    }
    this.marks.replaceChildren(
      ...lines.flatMap((text, index) => {
        const place = places.get(index + 1);
        if (!place) return [`${text}\n`];
        const from = Math.max(0, (place.column ?? 1) - 1);
        const [word] = text.slice(from).match(/^[^\s()]+|^./) ?? [""];
        return [text.slice(0, from), h("mark", { class: place.severity }, word || " "), `${text.slice(from + word.length)}\n`];
      }),
    );
    this.scrolled();
  }

  scrolled() {
    this.numbers.scrollTop = this.marks.scrollTop = this.area.scrollTop;
    this.marks.scrollLeft = this.area.scrollLeft;
  }
}
