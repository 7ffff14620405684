"""Rules as data, and whether they mean anything.

`terms` (rules, literals, terms; substitution, unification) <- `normalise` (from a rulesheet to rules), `dependencies`
(between relations) <- `safety`, `domains` (what arguments can be), `evaluate` (what holds in every state) <- `check`:
all of it, with `diagnostics`. `surface` answers what an unchecked rulesheet shows. Plain Python, quick to import;
imports nothing of the other stages.
"""
