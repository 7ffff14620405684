"""Goal-directed evaluation of rules for one state: what `games.gdl.interpreter.machine` is made of.

program (rules with function arguments unfolded) -> planning (sizes of relations, to order joins by) -> naming, codegen
(Python source per predicate and binding pattern) -> linking (compiled when first called) and tables (what makes
recursion terminate).
"""
