"""Counts the numbers that people chose in a package: those of its modules' constants, by folder.

    python docs/count_constants.py agent/search

A constant is a module's name in capitals. Each number in its value counts, also in a tuple or an expression; indices
made by `range`, 0, 1 and text do not.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path


def chosen_numbers(source: str) -> Iterator[tuple[str, float]]:
    """Yields the constants of a module, once for each number in them."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        if not names or not all(name.isupper() for name in names):
            continue
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "range":
            continue
        for number in ast.walk(value):
            if isinstance(number, ast.Constant) and type(number.value) in (int, float) and number.value not in (0, 1):
                yield ", ".join(names), float(number.value)


def main() -> None:
    """Prints the number for each folder, and in all."""
    root = Path(sys.argv[1])
    counts: Counter[str] = Counter()
    for path in sorted(root.rglob("*.py")):
        counts[str(path.parent)] += len(list(chosen_numbers(path.read_text(encoding="utf-8"))))
    for folder, count in sorted(counts.items()):
        print(f"{count:5}  {folder}")
    print(f"{sum(counts.values()):5}  in all")


if __name__ == "__main__":
    main()
