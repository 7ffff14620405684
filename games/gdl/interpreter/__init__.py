"""Goal-directed evaluation of rules for one state: what `games.gdl.interpreter.machine` is made of.

unfolding (rules with function arguments unfolded) -> planning (sizes of relations) -> naming, ordering (which literal
of a body comes next), codegen (Python source per predicate and binding pattern) -> linking (compiled when first
called) and tables (what makes recursion terminate) -> machine, the `StateMachine`. Imports `rules` alone.
"""
