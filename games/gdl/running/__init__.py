"""From a circuit to moving states, 64 to 512 at once.

`schedule` orders the gates, `layout` turns them into programs over slots, `kernels` evaluate these; `goals` reads goal
values, `playouts` plays random matches, `batches` answers queries for arrays of states. `machine` is the
`StateMachine`.
"""
