// Events from the server: one stream per view. The browser reconnects by itself.

/** Calls `take(data)` for each event of this name, `tell(text)` for changes of the connection. Returns a closing function. */
export function follow(path, name, take, tell) {
  const source = new EventSource(path);
  source.addEventListener("open", () => tell(""));
  source.addEventListener(name, (event) => take(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    tell(source.readyState === EventSource.CLOSED ? "Not connected: reload the page." : "The connection is lost: trying again …");
  });
  return () => source.close();
}
