"""Work for many machines, on a Ray cluster. Ray itself is optional, and imported by nothing before it is asked for.

`searching` has helpers search the positions of a match beside its worker.
"""
