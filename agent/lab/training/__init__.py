"""Training beyond a match: of the native families, a package for each, and of any other game (`general`).

`command` in a family's package is its part of `lab train`.
"""
