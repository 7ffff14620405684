// News from the server, through a WebSocket: all tabs share the six connections that a browser opens to a host, but not
// its WebSockets.
import { get } from "./dom.js";

const AGAIN_MILLISECONDS = 2000;

/** Calls `take(data)` with the data at a path, at once and whenever they change, `tell(text)` for changes of the
 * connection, and `miss(message)` where there are none (any more). Returns a closing function. */
export function follow(path, take, tell, miss = () => {}) {
  let socket = null;
  let later = null;
  let closed = false;

  function connect() {
    try {
      socket = new WebSocket(new URL(path, location.href.replace(/^http/, "ws")));
    } catch {
      look();
      return;
    }
    socket.addEventListener("open", () => tell(""));
    socket.addEventListener("message", (event) => take(JSON.parse(event.data)));
    socket.addEventListener("close", look);
  }

  /** Looks once, where no WebSocket comes through or it was closed, and tries again. */
  async function look() {
    let data = null;
    try {
      if (!closed) data = await get(path);
    } catch (error) {
      // Only a fetch that gets no answer is a TypeError.
      if (!closed && !(error instanceof TypeError)) {
        tell("Not connected: reload the page.");
        miss(error.message);
        return;
      }
    }
    if (closed) return;
    tell(data ? "" : "The connection is lost: trying again …");
    if (data) take(data);
    later = setTimeout(connect, AGAIN_MILLISECONDS);
  }

  connect();
  return () => {
    closed = true;
    clearTimeout(later);
    socket?.close();
  };
}
