"""The page: running matches, replays of finished ones, and a person's seat at the board.

`transcript` is the record of a match that runs, filled by serving and refereeing. `gallery` has the matches of a page
and notifies watchers, `records` reads finished ones from files. `site` is the HTTP side, with `access`;
`hosting` serves it on this machine. `pictures` has positions drawn, and unseen ones computed, by a child process, whose
work is `drawing`. `seat` is where a person plays, `feed` follows another agent's thoughts, `tournaments` is the
contract of tournaments on the page. `static/` is the browser's side.

`transcript` and `gallery` import little, so that a server starts fast; the others load with the first page.
"""
