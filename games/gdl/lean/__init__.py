"""The lean game of a circuit: without the facts that no search needs (`game`).

Of the labels of chains (`chains`) only their connection (`connection`) matters.
"""
