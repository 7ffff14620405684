"""From a circuit to states that move: `layout` orders its gates, `kernels` evaluate them 64 to 512 states at once.

`playouts` plays random matches, `machine` is the `StateMachine`. Imports `circuit`.
"""
