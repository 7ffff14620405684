"""One record of a match: `match` is its data and their JSON, `thinking` a player's thoughts, `spelling` terms as text,
`positions` rulesheets of matches that begin in the middle of another one.

A referee, a server and a tournament's log fill it; the page, `replay` and files of records read it. It imports little,
so that a server starts fast.
"""
