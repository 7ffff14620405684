"""The process that thinks about one match: `main` starts it, `session` is its control thread.

`rules` checks what is to be played, `choice` says which engines may, `gamer` plays a role with one machine, `opinions`
sends what its engine thinks, `reference` follows the match's state, with `belief`, `hypotheses` and `evidence` where it
is in doubt, and `belief_search` thinks then; `crosschecker` compares the circuit with the interpreter in a process
beside, `messages` is all that passes between this process and `agent.serving`. Imports `agent.search`, `games`, of
`agent.lab.jobs` the helpers of a match where there are some, and of `protocol` the data of a START and the writing of
terms. Of all this `agent.serving` may import `messages` only.
"""
