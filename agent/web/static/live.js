// Events from the server: one stream for each view; the browser comes back by itself when it breaks off.

/** Calls `take(data)` for each event of that name. `tell(text)` hears of the connection. Returns what ends it. */
export function follow(path, name, take, tell) {
  const source = new EventSource(path);
  source.addEventListener("open", () => tell(""));
  source.addEventListener(name, (event) => take(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    tell(source.readyState === EventSource.CLOSED ? "Not connected: reload the page." : "The connection is lost: trying again …");
  });
  return () => source.close();
}
