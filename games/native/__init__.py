"""Families of games with native rules, on bitboards. Each recognises its rulesheets by behaviour, never by name.

`games.families` lists them.
"""
