// Forms that begin a match or a bench. A sheet is `{name}` for one of the lobby's, or `{name, text}`.
import { capital, chip, gameTitle, h, paint, plain, post, recall, remember } from "./dom.js";

const SECONDS = 2;
const MATCHES = 20;
const BENCH_SECONDS = 0.1;

const PLAYERS = [["human", "You"], ["agent", "Agent"], ["random", "Random moves"], ["", "Another player …"]];

/** How strong the agent plays unless somebody chooses: `{level}`, or `{seconds}` per move. */
export const strength = () => recall("strength") ?? { level: "normal" };

let made = 0;

/** Makes the choice of the agent's strength; it is kept in this browser. */
export function strengthControl(levels) {
  const name = `strength-${(made += 1)}`;
  const seconds = h("input", { type: "number", min: 1, max: 600, required: true, "aria-label": "Seconds per move", onchange: () => keep() });
  const choices = [...levels, ""].map((level) => h("input", { type: "radio", name, value: level, onchange: () => keep() }));
  const time = h("span", { class: "time" }, seconds, " s per move");
  const update = () => {
    time.hidden = choices.find((choice) => choice.checked)?.value !== "";
    seconds.disabled = time.hidden;
  };
  const keep = () => {
    update();
    const level = choices.find((choice) => choice.checked).value;
    if (seconds.checkValidity()) remember("strength", level ? { level } : { seconds: Number(seconds.value) });
  };
  const show = () => {
    const { level, seconds: most } = strength();
    seconds.value = most ?? SECONDS;
    for (const choice of choices) choice.checked = choice.value === (most === undefined && levels.includes(level) ? level : "");
    update();
  };
  show();
  const element = h(
    "fieldset",
    { class: "strength" },
    h("legend", {}, "The agent plays"),
    h("div", { class: "segments" }, choices.map((choice) => h("label", {}, choice, h("span", {}, choice.value ? capital(choice.value) : "By time")))),
    time,
  );
  return { element, show };
}

/** Begins a match and shows it. Rejects with the server's message. */
export async function begin(sheet, players) {
  const { level = null, seconds = null } = strength();
  const { key } = await post("/page/lobby/matches", { ...sheet, players, level, seconds });
  location.hash = `#/match/${key}`;
}

/** A person in the first role against the agent. */
export const usual = (roles) => roles.map((_, index) => (index ? "agent" : "human"));

/** Opens a form in a dialog; `act` is called with it, and may reject with a message. */
function openDialog(title, button, fields, act) {
  const id = `dialog-${(made += 1)}`;
  const message = h("p", { class: "trouble", role: "alert" });
  const go = h("button", { class: "primary" }, button);
  const form = h(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        message.textContent = "";
        go.disabled = true;
        try {
          await act();
          dialog.close();
        } catch (error) {
          message.textContent = error.message;
        }
        go.disabled = false;
      },
    },
    h("h2", { id }, title),
    fields,
    message,
    h("div", { class: "actions" }, go, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel")),
  );
  const dialog = h("dialog", { "aria-labelledby": id, onclose: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
  const leave = () => dialog.close();
  window.addEventListener("hashchange", leave, { once: true });
}

/** Opens the form of a match: who plays each role, and how strong the agent is. */
export function openMatchForm(title, sheet, roles, levels, { colours = [], emblems = [] } = {}) {
  const rows = roles.map((role, index) => {
    const select = h("select", { "aria-label": `Player of ${plain(role)}` }, PLAYERS.map(([value, text]) => h("option", { value }, text)));
    const address = h("input", { type: "url", placeholder: "http://localhost:9147", "aria-label": `Address of the player of ${plain(role)}`, pattern: "https?://.+", required: true });
    const update = () => {
      address.hidden = address.disabled = select.value !== "";
    };
    select.value = usual(roles)[index];
    select.addEventListener("change", update);
    update();
    const element = h("div", { class: "seat-row" }, h("span", { class: "role" }, chip(index, emblems), plain(role)), select, address);
    return { element, player: () => select.value || address.value };
  });
  const players = h("fieldset", {}, h("legend", {}, "Players"), rows.map(({ element }) => element));
  paint(players, colours);
  const note = h("p", { class: "quiet" }, "The levels look at a fixed number of positions: they play the same games on every machine.");
  openDialog(title, "Begin", [players, strengthControl(levels).element, note], () => begin(sheet, rows.map(({ player }) => player())));
}

/** Opens the form of a bench: matches of the agent against itself, maybe beside those of another sheet. */
export function openBenchForm(title, sheet, games) {
  const number = (label, value, attributes) => {
    const input = h("input", { type: "number", value, required: true, ...attributes });
    return [h("label", { class: "field" }, h("span", {}, label), input), input];
  };
  const [matchField, matches] = number("Matches", MATCHES, { min: 1, max: 1000 });
  const [timeField, seconds] = number("Seconds per move", BENCH_SECONDS, { min: 0.01, max: 60, step: "any" });
  const last = recall(`bench:${sheet.name}`);
  const others = [["", "nothing"], ...(last === null || last === sheet.text ? [] : [["last", "these rules as they were at the last bench"]]), ["file", "a file …"], ...games.map(({ name }) => [`name:${name}`, gameTitle(name)])];
  const other = h("select", {}, others.map(([value, text]) => h("option", { value }, text)));
  const file = h("input", { type: "file", accept: ".kif,.gdl,.txt", "aria-label": "File to compare with", required: true });
  const update = () => {
    file.hidden = file.disabled = other.value !== "file";
  };
  other.addEventListener("change", update);
  update();
  const levels = h("input", { type: "checkbox" });
  const fields = [
    h("p", { class: "quiet" }, "The agent plays against itself from varied openings; the figures tell whether the game is fair, how long it lasts, and what is never used."),
    h("div", { class: "fields" }, matchField, timeField),
    h("label", { class: "field" }, h("span", {}, "Compare with"), other),
    file,
    h("label", { class: "check" }, levels, h("span", {}, "Strong against easy as well: does skill decide?")),
  ];
  const compared = async () => {
    if (other.value === "") return {};
    if (other.value === "last") return { compare: { name: "last_version", text: last } };
    if (other.value === "file") return { compare: { name: stem(file.files[0].name), text: await file.files[0].text() } };
    return { compare: { name: other.value.slice("name:".length) } };
  };
  openDialog(title, "Begin", fields, async () => {
    const { key } = await post("/page/lobby/benches", { ...sheet, matches: Number(matches.value), seconds: Number(seconds.value), levels: levels.checked, ...(await compared()) });
    if (sheet.text !== undefined) remember(`bench:${sheet.name}`, sheet.text);
    location.hash = `#/bench/${key}`;
  });
}

/** Returns a file's name without its suffix. */
export const stem = (name) => name.replace(/\.\w+$/, "");

/** Opens a chosen file: a match's record is shown, anything else is taken as a rulesheet by `take({name, text})`. */
export async function openFile(file, take) {
  const text = await file.text();
  if (!text.trimStart().startsWith("{")) {
    take({ name: stem(file.name), text });
    return;
  }
  let record;
  try {
    record = JSON.parse(text);
  } catch {
    throw new Error(`${file.name} is neither a rulesheet nor the record of a match.`);
  }
  location.hash = `#/match/${(await post("/page/lobby/records", record)).key}`;
}

/** Makes a button that opens a file from disk. */
export function fileButton(label, accept, take) {
  const input = h("input", { type: "file", accept, hidden: true, onchange: () => {
    if (input.files.length) take(input.files[0]);
    input.value = "";
  } });
  return [h("button", { type: "button", onclick: () => input.click() }, label), input];
}
