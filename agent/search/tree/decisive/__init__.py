"""Decisive and anti-decisive moves of playouts: moves that win at once, or keep the other role from it.

After Teytaud and Teytaud 2010, "On the huge benefit of decisive moves in Monte-Carlo tree search algorithms". Trying
every move would cost far more than the playout. So `endings` are read off the circuit, and random matches show the
`makers` of facts: the moves that make them true. `finding` joins both and checks them on other matches; `kernels` finds
such moves in 64 matches at once.
"""
