"""Families of games with native rules, on bitboards. Each recognises its rulesheets by how they behave, never by name.

`games.families` lists them. They import `games.gdl.running` to look at a compiled rulesheet, and `games.bits`.
"""
