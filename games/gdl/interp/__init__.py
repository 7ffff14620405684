"""Goal-directed evaluation of rules for one state: what `games.gdl.interpreter` is made of.

program -> planning -> codegen -> tables: rules with function arguments unfolded, sizes of relations for ordering
joins, Python source per predicate and binding pattern, and the tables that make recursion terminate.
"""
