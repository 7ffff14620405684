"""The page: matches as they are played, replays of finished ones, and a person's seat at the board.

`transcript` and `thinking` are what a page shows of one match, as plain data; `gallery` holds many of them, and tells
who watches of changes; `records` reads finished ones from files; `pictures` draws positions, `replaying` works out
those that were not seen; `site` is the HTTP side, `seat` where a person plays, `feed` follows what another server of
ours thinks, `tournaments` is what the site asks of tournaments. `static/` goes to the browser as it is.

Imports `games.machine`, the interpreter (to replay), `protocol`, `agent.boards`, `agent.bounded_json` and the opinions
of `agent.search.engine`; serving and refereeing fill transcripts and serve the site. Until somebody asks for the page
nothing is drawn, and `site` with what it needs is not even imported: `transcript`, `thinking` and `gallery` stay light.
"""
