"""The commands of `ggp-agent`, one file each: its options stand beside what it runs.

A command's module has `add(commands)`, which adds its parser, and the function that the parser sets as `run`. Modules
here import what they run when they run it, so that `--help` is there at once; what they share is in `options`. They may
import everything else of `agent`; nothing but `agent.cli` imports them.
"""
