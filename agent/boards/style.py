"""The style sheet of boards, in colours of a light and a dark theme, which follow the reader's preference.

Squares with which a move can begin look selectable. A page gives the next squares of a begun move the class `target`.

Shapes have a contrast of 3 to 1 at least to all that they can stand on (WCAG 2.2, 1.4.11), and writing 4.5 to 1. Of a
piece its edge has it, so that both themes can have white and black ones.
"""

from __future__ import annotations

_SURFACE = {
    "square": ("#eadfc6", "#303942"),
    "square-alt": ("#d6c4a0", "#252c34"),
    "line": ("#b09c74", "#12161a"),
    "label": ("#554d3c", "#c3c9d1"),
    "text": ("#221f18", "#f3f1ea"),
    "blocked": ("#605c54", "#87929d"),
    "last": ("#ad430a", "#ffb454"),
    "choice": ("#0d664a", "#6fe0b4"),
}
"""Colours of everything but pieces, for the light and the dark theme."""

_PIECES = (
    (("#20242a", "#f4f1e8", "#07090b"), ("#171a1e", "#f4f1e8", "#b7bec7")),  # black
    (("#fcfbf6", "#20242a", "#4e4a41"), ("#f4f1e8", "#20242a", "#ffffff")),  # white
    (("#c5372c", "#ffffff", "#8e1a12"), ("#ef6553", "#220502", "#ffb0a3")),  # red
    (("#2566c2", "#ffffff", "#123f86"), ("#5b97ee", "#031026", "#a9cbff")),  # blue
    (("#0d7a62", "#ffffff", "#06503c"), ("#2fb08f", "#021c14", "#86e3c9")),  # green
    (("#f1c61d", "#2c2400", "#7d6000"), ("#f0c92f", "#2c2400", "#ffeda0")),  # yellow
    (("#ea8a2c", "#2b1600", "#8c480a"), ("#ee943c", "#2b1600", "#ffcd9a")),  # orange
    (("#8648aa", "#ffffff", "#5b2879"), ("#b57fdc", "#1c0629", "#dfbcf8")),  # purple
    (("#55b7dc", "#04222d", "#14566f"), ("#5cc0e6", "#04222d", "#b4e8fb")),  # cyan
    (("#8c5c35", "#ffffff", "#5c3617"), ("#b98355", "#1c0d02", "#e2bd98")),  # brown
    (("#9aa0a6", "#14171a", "#4f545a"), ("#9aa0a6", "#14171a", "#d9dde1")),  # grey
)
"""Colours of pieces: body, sign on it, edge; for the light and the dark theme."""


def _sheet() -> str:
    rules = [
        f":root{{{_variables(0)}}}",
        f"@media(prefers-color-scheme:dark){{:root{{{_variables(1)}}}}}",
        ".board{display:block;width:100%;height:auto;font-family:system-ui,sans-serif;text-anchor:middle;"
        "user-select:none}",
        ".board .s,.board .e{fill:var(--board-square);stroke:var(--board-line)}",
        ".board .e{fill:var(--board-square-alt)}",
        ".board .z{fill:transparent}",
        ".board .b{fill:var(--board-blocked);stroke:var(--board-line)}",
        ".board .h{stroke:var(--board-square);stroke-width:2;opacity:.5}",
        ".board .wall{stroke:var(--board-blocked);stroke-width:5;stroke-linecap:round}",
        ".board .edge{stroke:var(--board-label);stroke-width:2;fill:none}",
        ".board .lab,.board .cap{fill:var(--board-label);font-size:12px}",
        ".board .row{text-anchor:end}",
        ".board .cap{text-anchor:start;font-weight:600}",
        ".board .l{fill:none;stroke:var(--board-last);stroke-width:3}",
        ".board .t{fill:var(--board-last)}",
        ".board .new{fill:#fff;stroke:#222;stroke-width:2.5}",
        ".board .choice{cursor:pointer}",
        ".board .choice:focus{outline:none}",
        ".board .choice:hover>path:first-of-type,.board .choice:focus-visible>path:first-of-type,.board .ring"
        "{stroke:var(--board-choice);stroke-width:4}",
        ".board .ring{fill:none;pointer-events:none}.board .ring:not([transform]){display:none}",
        ".board .o,.board .r{display:none;fill:var(--board-choice)}",
        ".board .first .o,.board .first .r,.board .target .o,.board .target .r{display:inline}",
        # A rim of the square's colour parts the ring from the piece.
        ".board .r{fill:none;stroke:var(--board-choice);stroke-width:2.6}",
        ".board .r :first-child{stroke:var(--board-square);stroke-width:5}",
        ".board .m{fill:var(--_i);font-size:11px}",
        ".board .p{stroke-width:2;fill:var(--_c);stroke:var(--_o)}",
        ".board .u{fill:none;stroke:var(--_i);stroke-width:1.5;opacity:.7}",
        ".board .x,.board .xe{fill:none;stroke:var(--_c);stroke-width:6;stroke-linecap:round}",
        ".board .xe{stroke:var(--_o);stroke-width:9}",
        ".board .a{fill:var(--_c)}",
        ".board .d{fill:none;stroke:var(--_o);stroke-width:2;stroke-linecap:round}",
        ".board .f,.board .i{fill:var(--_i)}",
        ".board .i{font-size:19px;font-weight:600}",
        ".board .g{font-size:25px}",
        ".board .k{fill:var(--_c);stroke:var(--_i);stroke-width:2.4;paint-order:stroke;font-size:36px}",
        ".board .n{fill:var(--board-text);font-size:20px;font-weight:600}",
        ".board .z2{font-size:16px}.board .z3{font-size:13px}.board .z4{font-size:10.5px}.board .z5{font-size:9px}",
        ".board .q{fill:#fff;stroke:#333}",
        ".board .v{fill:#111;font-size:10px;font-weight:700}",
        ".board .j{fill:var(--board-label);font-size:9px}",
        ".board .y{fill:var(--board-label)}",
        ".board text{pointer-events:none}",
    ]
    for index in range(len(_PIECES)):
        rules.append(f".board .c{index}{{--_c:var(--piece-{index});--_i:var(--sign-{index});--_o:var(--edge-{index})}}")
    return "".join(rules)


def _variables(theme: int) -> str:
    """Colours as variables, which a page may use too."""
    found = {f"board-{name}": pair[theme] for name, pair in _SURFACE.items()}
    for index, themes in enumerate(_PIECES):
        found |= {
            f"{part}-{index}": colour for part, colour in zip(("piece", "sign", "edge"), themes[theme], strict=True)
        }
    return "".join(f"--{name}:{colour};" for name, colour in found.items())


STYLE = _sheet()
"""Content of a `<style>` element, without characters that need escaping in XML."""
