"""The commands of `ggp-agent`, one file each.

A command's module has `add(commands)`, which adds its parser, and the function that the parser sets as `run`. It
imports what it runs on demand, so that `--help` is quick. `options` holds what commands share.
"""
