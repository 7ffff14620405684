"""Goal-directed evaluation of rules, one state at a time; `machine` holds the `StateMachine`.

unfolding    rules, function arguments unfolded
planning     sizes of relations
ordering     order of a body's literals
naming       Python names for terms and relations
inlining     short rules in place of calls
codegen      Python source for a body
merging      common beginnings of bodies
functions    Python source for a predicate and binding pattern
linking      relations at run time, compiled when first called
tables       termination of recursion
facts        the state, and indices kept from state to state
extents      relations computed as a whole
firings      which rules of the text have fired
"""
