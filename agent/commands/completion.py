"""`ggp-agent --print-completion SHELL`: a script that completes commands, options and files in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

SHELLS = ("bash", "zsh", "tcsh", "fish")

FILE_ARGUMENTS = ("config", "file", "files", "game", "games", "target", "targets")
"""Arguments that take files, but are no paths for argparse, as they take names of own rulesheets too."""


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Adds the option."""
    parser.add_argument(
        "--print-completion",
        choices=SHELLS,
        action=_PrintCompletion,
        metavar="SHELL",
        help="print a completion script for bash, zsh, tcsh or fish and exit: "
        'eval "$(ggp-agent --print-completion bash)" in ~/.bashrc',
    )


class _PrintCompletion(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        # Needed once per installation.
        import shtab

        _complete_files(parser)
        print(shtab.complete(parser, str(values)))
        parser.exit(0)


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Lets arguments that are files be completed as files."""
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command)
        elif action.type is Path or action.dest in FILE_ARGUMENTS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
