"""Measures speed (`bench`, `playouts`, `timing`), strength (`strength_game`, `strength_series`: a tournament of two
engines, on the parts of `agent.tournament`; `tactics`, in positions of a `tactics_suite`) and correctness (`conform`,
with `trace_replay` and its report `conformity`), describes rulesheets (`describe`, `insight`, `sampling`, `validate`)
and players over HTTP (`ping`, on `ping_wire`), and plays against a server under load and faults (`soak`, which takes
the reading of memory from `agent.serving`) and without one after PLAYs that were missed (`gaps`, on what
`agent.serving.pace` and `agent.worker` make of them). Imports `agent.cluster`, `agent.search`, `agent.sheet`,
`agent.tournament` and `games`, and of `protocol` what `soak` and `ping` send; only commands import it.
"""
