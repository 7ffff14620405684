"""Decides: matches, clocks, worker processes, journal, search engines, referee and command line.

`cli` is the entry, `commands` what it offers; `serving` answers managers, with `worker` processes that think by
`search`; `refereeing` is the manager's side, `measuring` compares. At this level stands what several of them need:
`errors`, `logs`, `processes`, `sheet`. Imports `games` and `protocol`; nothing imports it.
"""

import games  # noqa: F401 - says where compiled kernels are kept, before any is defined
