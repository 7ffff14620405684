"""The other side of the protocol: runs matches between players, as a game manager does.

`referee` asks, judges and keeps the clocks, `record` is what it writes down, `house_players` are the built-in players,
`hosting` puts a match together for the command line, `board_text` shows states in a terminal. Imports `games` and
`protocol`, and nothing of the player's side: players are reached over HTTP alone. Only commands import it.
"""
