"""The two processes of a match: the reference, which knows the truth, and the search, which thinks.

`main` starts either, `messages` is all that passes between them and `agent.serving`; `rules` checks the rulesheet, and
`situation` describes a state, with its digest. The reference: `truth` is its loop, `reference` follows the match, and
where its state is in doubt, `belief` does, with `evidence`. The search: `search` is its control
thread, `thinker` follows the match and thinks; `choice` selects the engines, `opinions` sends theirs, `belief_search`
thinks about several states, and `rehearsal` compares the circuit with the interpreter before the match.
"""
