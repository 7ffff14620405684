"""Symmetries of the rules: a circuit as a graph (`graph`), its automorphisms (`finding`), in the rules' terms
(`wording`). The circuit must be unfactored."""
