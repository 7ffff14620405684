// The page: chooses the view by the address, and shows the state of the connection.
import { Bench } from "./bench.js";
import { get } from "./dom.js";
import { Match } from "./match.js";
import { Overview } from "./overview.js";
import { Sheet } from "./sheet.js";
import { Tournament } from "./tournament.js";

const content = document.getElementById("content");
const connection = document.getElementById("connection");
const ways = document.getElementById("ways");
let view = null;

// The browser has a cookie instead of the token, which is not for bookmarks.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);

document.getElementById("skip").addEventListener("click", () => content.focus());

/** Shows a position ("#/match/KEY/12"), a running match ("#/match/KEY"), a tournament ("#/tournament/KEY"), a rulesheet
 * ("#/sheet", or one of the lobby's: "#/sheet/NAME"), a bench ("#/bench/KEY") or all. */
function route() {
  const [, kind, key, ply] = location.hash.split("/");
  if (kind === "match" && key) {
    const wanted = ply === undefined || !/^\d+$/.test(ply) ? null : Number(ply);
    if (view instanceof Match && view.key === key) {
      view.goTo(wanted);
      return;
    }
    show(new Match(key, wanted));
  } else if (kind === "tournament" && key) {
    if (!(view instanceof Tournament && view.key === key)) show(new Tournament(key));
  } else if (kind === "sheet") {
    const name = key ? decodeURIComponent(key) : null;
    if (!(view instanceof Sheet && view.name === name)) show(new Sheet(name));
  } else if (kind === "bench" && key) {
    if (!(view instanceof Bench && view.key === key)) show(new Bench(key));
  } else if (!(view instanceof Overview)) {
    show(new Overview());
  }
}

function show(next) {
  const moved = view !== null;
  view?.close();
  view = next;
  content.replaceChildren(view.element);
  // What had the focus is gone.
  if (moved) content.focus({ preventScroll: true });
  window.scrollTo(0, 0);
  // The way to the rules leads to those seen last.
  if (view instanceof Sheet) ways.lastElementChild.href = view.way;
  for (const link of ways.children) {
    if (link.hash === view.way) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  view.open((text) => {
    connection.textContent = text;
  });
}

// Only a lobby has benches, and places to go to beside the matches.
get("/page/matches").then(({ benches }) => {
  ways.hidden = benches === undefined;
}, () => {});

window.addEventListener("hashchange", route);
window.addEventListener("keydown", (event) => {
  const busy = event.target.closest?.("input, select, textarea");
  if (busy || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (view?.onKey?.(event.key)) event.preventDefault();
});
route();
