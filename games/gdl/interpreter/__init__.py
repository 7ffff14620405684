"""Goal-directed evaluation of rules for one state: what `games.gdl.interpreter.machine` is made of.

unfolding (rules with function arguments unfolded) -> planning (sizes of relations) -> naming, ordering (which literal
of a body comes next), inlining (short rules in the place of calls), codegen (Python source for a body), merging (of
bodies that begin alike), functions (for a predicate and binding pattern) -> linking (compiled when first called),
tables (what makes recursion terminate) and facts (the state, and indices that follow it from state to state) ->
machine, the `StateMachine`. Imports `rules` alone.
"""
