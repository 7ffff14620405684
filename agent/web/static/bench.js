// A bench: its progress, a table of figures with intervals, problems, plots; of one sheet or of two beside each other.
import { announce, capital, gameTitle, h, plain, post } from "./dom.js";
import { follow } from "./live.js";
import { interval, lines } from "./plot.js";
import { duration, scroll } from "./tournament.js";

const PROBLEMS = {
  endless: "No end",
  stuck: "No legal move",
  low: "Nothing to win",
  rule: "A rule that never fired",
  move: "Moves that were never legal",
  unknown: "A rule that was not followed",
  failed: "Errors of the search",
  lost: "Matches missing",
};

const COMPARED = ["these rules", "the others"];

/** Formats a figure with as many digits as are worth reading. */
function figure(value, unit) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text = Number.isInteger(value) ? String(value) : value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
  return `${text.replace("-", "−")}${unit && unit !== "" ? ` ${unit}` : ""}`;
}

/** Returns the range in which the values of a figure are drawn: of all percents, or from zero to the largest. */
function range(figures) {
  const known = figures.flatMap(({ value, low, high }) => [value, low, high]).filter((value) => value !== null && value !== undefined);
  const percents = figures.some(({ unit }) => unit === "%");
  return [Math.min(percents && known.some((value) => value < 0) ? -100 : 0, ...known), Math.max(percents ? 100 : 0, ...known) || 1];
}

export class Bench {
  constructor(key) {
    this.key = key;
    this.title = h("h1", {}, "Bench");
    this.state = h("p", { class: "quiet state" });
    this.bar = h("progress", { "aria-label": "Matches played" });
    this.stopButton = h("button", { type: "button", onclick: () => this.end() }, "Stop");
    this.message = h("p", { class: "trouble", role: "alert" });
    this.figures = scroll("Figures");
    this.problems = h("ul", { class: "problems" });
    this.plots = h("div", { class: "plots" });
    this.plotSection = h("section", { class: "panel", "aria-label": "Plots" }, h("h2", {}, "Plots"), this.plots);
    this.problemSection = h("section", { class: "panel", "aria-label": "Problems" }, h("h2", {}, "Problems"), this.problems);
    this.figureSection = h("section", { class: "panel", "aria-label": "Figures" }, h("h2", {}, "Figures"), this.figures);
    this.element = h(
      "div",
      { class: "bench" },
      h("div", { class: "heading" }, this.title, this.state),
      h("div", { class: "progress" }, this.bar, this.stopButton),
      this.message,
      this.problemSection,
      this.figureSection,
      this.plotSection,
    );
    for (const section of [this.problemSection, this.figureSection, this.plotSection]) section.hidden = true;
  }

  open(tell) {
    document.title = "Bench – ggp-agent";
    this.stop = follow(`/page/benches/${encodeURIComponent(this.key)}`, (view) => this.take(view), tell, (message) => {
      if (this.view) return;
      tell("");
      this.element.replaceChildren(h("div", { class: "empty" }, h("p", {}, message), h("p", {}, h("a", { href: "#/" }, "All games"))));
    });
    this.resized = () => this.view && this.showPlots();
    window.addEventListener("resize", this.resized);
  }

  close() {
    this.stop?.();
    window.removeEventListener("resize", this.resized);
  }

  async end() {
    this.stopButton.disabled = true;
    try {
      await post(`/page/benches/${encodeURIComponent(this.key)}/stop`, {});
    } catch (error) {
      this.message.textContent = error.message;
      this.stopButton.disabled = false;
    }
  }

  take(view) {
    const ran = this.view && !this.view.done;
    this.view = view;
    const known = view.reports.filter((report) => report !== null);
    const sum = (name) => known.reduce((total, report) => total + report[name], 0);
    const [played, planned] = [sum("matches"), sum("of")];
    this.title.textContent = view.games.map(gameTitle).join(" and ");
    document.title = `${this.title.textContent} – ggp-agent`;
    const seconds = Math.max(0, ...known.map((report) => report.seconds));
    const rest = known.map((report) => report.seconds_left).filter((left) => left !== null);
    const left = !view.done && rest.length ? ` · about ${duration(Math.max(...rest))} left` : "";
    const ended = !view.done ? "" : view.stopped ? " · stopped" : " · done";
    this.state.textContent = known.length ? `${played} of ${planned} matches · ${duration(seconds)}${left}${ended}` : view.done ? "over" : "setting up";
    this.bar.hidden = this.stopButton.hidden = view.done;
    if (planned) {
      this.bar.max = planned;
      this.bar.value = played;
    }
    this.message.textContent = view.errors.filter((error) => error !== null).join("\n");
    Object.assign(this.element.dataset, { matches: played, done: view.done });
    if (ran && view.done) announce(`The bench is over after ${played} matches.`);
    if (!known.length) return;
    this.showProblems();
    this.showFigures();
    this.showPlots();
  }

  /** Returns the names of the sheets, told apart where they have one name. */
  get names() {
    const titles = this.view.reports.map((report, index) => (report ? gameTitle(report.game) : COMPARED[index]));
    return titles.length > 1 && titles[0] === titles[1] ? COMPARED : titles;
  }

  showProblems() {
    const { reports, done } = this.view;
    const several = reports.length > 1;
    const items = reports.flatMap((report, index) =>
      (report?.problems ?? []).map(({ kind, text, line }) =>
        h("li", {}, h("strong", {}, PROBLEMS[kind] ?? kind), several && h("span", { class: "quiet" }, ` in ${this.names[index]}`), h("p", {}, capital(text), line !== null && line !== undefined && h("span", { class: "quiet" }, ` (line ${line})`))),
      ),
    );
    this.problemSection.hidden = !items.length && !done;
    this.problems.replaceChildren(...(items.length ? items : [h("li", { class: "none" }, "None was found.")]));
  }

  showFigures() {
    const { reports } = this.view;
    const several = reports.length > 1;
    const byKey = reports.map((report) => new Map((report?.figures ?? []).map((one) => [one.key, one])));
    const rows = [...new Map(byKey.flatMap((figures) => [...figures])).values()].map(({ key, name, definition, source }) => {
      const found = byKey.map((figures) => figures.get(key) ?? null);
      const drawn = range(found.filter((one) => one !== null));
      return h(
        "tr",
        { dataset: { figure: key } },
        h("th", { scope: "row" }, capital(name), h("span", { class: "definition" }, `${capital(definition).replace(/\.$/, "")}. `, source && h("cite", {}, source))),
        ...found.map((one) =>
          h(
            "td",
            {},
            h("strong", { class: "figure" }, one ? figure(one.value, one.unit) : "–"),
            one && one.low !== null && h("span", { class: "quiet figure" }, `${figure(one.low)} … ${figure(one.high)}`),
            one && one.value === null && one.reason && h("span", { class: "quiet" }, one.reason),
            one && interval(one, drawn),
          ),
        ),
        several && h("td", { class: "difference" }, difference(found)),
      );
    });
    const heads = several ? ["Figure", ...this.names, "Difference"] : ["Figure", "Value, 95 %"];
    this.figures.replaceChildren(
      h("table", { class: `results figures-table${several ? " several" : ""}` }, h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows)),
    );
    this.figureSection.hidden = !rows.length;
  }

  showPlots() {
    const { reports } = this.view;
    const all = new Map();
    reports.forEach((report, index) => {
      for (const drawn of report?.plots ?? []) {
        const several = reports.length > 1;
        // Lines of single matches would be too many together.
        const apart = several && drawn.series.length > 1 && drawn.series.some(({ name }) => !report.roles.includes(name));
        const key = apart ? `${drawn.key} ${index}` : drawn.key;
        const shown = all.get(key) ?? { ...drawn, title: apart ? `${drawn.title}: ${this.names[index]}` : drawn.title, series: [] };
        drawn.series.forEach(({ name, points }, colour) => {
          const text = plain(name);
          shown.series.push({ name: several && !apart ? `${text}, ${this.names[index]}` : text, points, colour, dashed: index > 0 && !apart });
        });
        all.set(key, shown);
      }
    });
    const filled = [...all.values()].filter(({ series }) => series.some(({ points }) => points.length > 1));
    this.plotSection.hidden = !filled.length;
    const room = Math.min(560, Math.max(280, this.plots.clientWidth / Math.max(1, Math.floor(this.plots.clientWidth / 400)) - 24));
    this.plots.replaceChildren(...filled.map((shown) => lines(room, shown)));
  }
}

/** Says how two values of a figure differ, and whether by more than chance. */
function difference([one, other]) {
  if ((one?.value ?? null) === null || (other?.value ?? null) === null) return "–";
  const gap = one.value - other.value;
  const clear = one.low !== null && other.low !== null && (one.low > other.high || one.high < other.low);
  return [h("strong", { class: "figure" }, `${gap > 0 ? "+" : ""}${figure(gap, one.unit)}`), h("span", { class: "quiet" }, clear ? "clear" : "within chance")];
}
