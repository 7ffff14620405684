"""Rules as data, and the check of their meaning.

`terms` (rules, literals, terms; substitution, unification) <- `normalise` (from a rulesheet to rules), `dependencies`
(between relations) <- `safety`, `domains` (possible values of arguments), `evaluate` (relations that are the same in
every state), `moveless` (no `does` in what is asked of a state), `oddities` (of the text) <- `check`: all of it, with
`diagnostics`. `surface` reads unchecked rulesheets. Plain Python, quick to import.
"""
