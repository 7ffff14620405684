"""From a circuit to states that move, 64 to 512 at once. Imports `circuit`.

`schedule` orders the gates, `layout` gives them slots and makes programs of them, `kernels` evaluate these; `goals`
is the one reader of goal values, `playouts` plays random matches, `batches` answers for arrays of states, and
`machine` is the `StateMachine`. `serialise` makes a game with turns of one in which two choose at once, by what
`rebuilding` reads back from a machine: its circuit, also as it was before factoring. Other packages import `machine`,
`serialise` and `rebuilding`; kernels elsewhere also the other modules.
"""
