"""Turns rules into something that can be played fast: GDL, circuits, native boards. Knows no clock and no network."""
