"""The player and its laboratory.

`cli` is the entry, `commands` its commands. `serving` answers managers; the processes of a match are in `playing`, and
think by `search` on cores of this machine, or by `helpers` on others. `refereeing` is the manager's side, with `web`
(the page) and `boards` (pictures); `record` is the record of a match, `lobby` the page of `play`. `checking` examines
sheets and players, `kernels` compiles ahead, `lab` measures and learns. The modules beside them are shared: `errors`,
`logs`, `processes`, `console`, `sheet`, `bounded_json`, `json_lines`.
"""

import sys

if sys.platform != "linux":
    raise SystemExit(f"ggp-agent runs on Linux only, and this is {sys.platform}")

import games  # noqa: F401 - says where compiled kernels are kept, before any is defined
