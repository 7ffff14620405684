"""Search for the Blokbox family, and how it learns.

`engine` runs the tree search (`tree`), guided by a network (`net`, `nets`) or by simpler weights (`evaluation`,
`priors`; both behind `judgement`), and beside it alpha-beta (`prover`, `alphabeta`), which proves results with the help
of territories (`territory`, `regions`, `solo`). `campaign` trains: `training` plays, `learning` and `regression` learn.
"""

from agent.search.blokbox.engine import BlokboxEngine, make_engine, warm_up

__all__ = ["BlokboxEngine", "make_engine", "warm_up"]
