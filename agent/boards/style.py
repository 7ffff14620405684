"""The style sheet of boards. A page sets `--board-...` to theme them; else they follow the light or dark preference.

Squares with which a move can begin look selectable. A page gives the next squares of a begun move the class `target`.
"""

from __future__ import annotations

_SURFACE = {
    "square": ("#eadfc6", "#59636f"),
    "square-alt": ("#d3bf98", "#434c57"),
    "line": ("#a8946c", "#2a3038"),
    "label": ("#5c5443", "#c3c9d1"),
    "text": ("#221f18", "#f3f1ea"),
    "blocked": ("#77736a", "#1f242a"),
    "blocked-line": ("#9b978d", "#4a525c"),
    "last": ("#b0470c", "#ffb454"),
    "changed": ("#b0470c", "#ffb454"),
    "choice": ("#1b7f5c", "#6fe0b4"),
}
"""Colours of everything but pieces, for the light and the dark theme."""

_PIECES = (
    ("#20242a", "#f4f1e8", "#07090b"),  # black
    ("#fcfbf6", "#20242a", "#4e4a41"),  # white
    ("#c5372c", "#ffffff", "#6d170f"),  # red
    ("#2566c2", "#ffffff", "#0f3268"),  # blue
    ("#11836a", "#ffffff", "#06412f"),  # green
    ("#f1c61d", "#2c2400", "#7d6400"),  # yellow
    ("#ea8a2c", "#2b1600", "#84450a"),  # orange
    ("#8648aa", "#ffffff", "#42205a"),  # purple
    ("#55b7dc", "#04222d", "#1a6180"),  # cyan
    ("#8c5c35", "#ffffff", "#472b14"),  # brown
    ("#9aa0a6", "#14171a", "#5b6066"),  # grey
)
"""Colours of pieces: body, writing on it, outline."""


def _sheet() -> str:
    def variables(which: int) -> str:
        return "".join(f"--_{name}:var(--board-{name},{pair[which]});" for name, pair in _SURFACE.items())

    rules = [
        f".board{{{variables(0)}display:block;width:100%;height:auto;font-family:system-ui,sans-serif;"
        "text-anchor:middle;user-select:none}",
        f"@media(prefers-color-scheme:dark){{.board{{{variables(1)}}}}}",
        ".board .s,.board .e{fill:var(--_square);stroke:var(--_line)}",
        ".board .e{fill:var(--_square-alt)}",
        ".board .b{fill:var(--_blocked);stroke:var(--_line)}",
        ".board .h{stroke:var(--_blocked-line);stroke-width:2}",
        ".board .w{fill:#fff;font-size:16px}",
        ".board .wall{stroke:var(--_blocked);stroke-width:5;stroke-linecap:round}",
        ".board .edge{stroke:var(--_line);stroke-width:3;fill:none}",
        ".board .lab,.board .cap{fill:var(--_label);font-size:12px}",
        ".board .row{text-anchor:end}",
        ".board .cap{text-anchor:start;font-weight:600}",
        ".board .l{fill:none;stroke:var(--_last);stroke-width:3}",
        ".board .t{fill:var(--_changed)}",
        ".board .new{fill:#fff;stroke:#222;stroke-width:2.5}",
        ".board .choice{cursor:pointer}",
        ".board .choice:focus{outline:none}",
        ".board .choice:hover>path:first-of-type,.board .choice:focus-visible>path:first-of-type"
        "{stroke:var(--_choice);stroke-width:4}",
        ".board .o,.board .r{display:none;fill:var(--_choice);opacity:.75}",
        ".board .first .o,.board .first .r,.board .target .o,.board .target .r{display:inline}",
        ".board .r{fill:none;stroke:var(--_choice);stroke-width:3;opacity:.85}",
        ".board .m{fill:var(--_i);font-size:11px;opacity:.85}",
        ".board .p{stroke-width:1.5;fill:var(--_c);stroke:var(--_o)}",
        ".board .u{fill:none;stroke:var(--_i);stroke-width:1.5;opacity:.6}",
        ".board .x{fill:none;stroke:var(--_c);stroke-width:6;stroke-linecap:round}",
        ".board .a{fill:var(--_c)}",
        ".board .d{fill:none;stroke:#0008;stroke-width:1.5;stroke-linecap:round}",
        ".board .f{fill:var(--_i);opacity:.55}",
        ".board .i{fill:var(--_i);font-size:19px;font-weight:600}",
        ".board .g{font-size:25px}",
        ".board .k{fill:var(--_c);stroke:var(--_i);stroke-width:1.6;paint-order:stroke;font-size:36px}",
        ".board .n{fill:var(--_text);font-size:20px;font-weight:600}",
        ".board .z2{font-size:16px}.board .z3{font-size:13px}.board .z4{font-size:10.5px}.board .z5{font-size:9px}",
        ".board .q{fill:#fffd;stroke:#333}",
        ".board .v{fill:#111;font-size:10px;font-weight:700}",
        ".board .j{fill:var(--_label);font-size:9px}",
        ".board .y{fill:var(--_label);opacity:.8}",
        ".board text{pointer-events:none}",
    ]
    for index, (body, written, outline) in enumerate(_PIECES):
        rules.append(
            f".board .c{index}{{--_c:var(--board-piece-{index},{body});--_i:var(--board-ink-{index},{written});"
            f"--_o:{outline}}}"
        )
    return "".join(rules)


PIECE_COLOURS = ":root{" + "".join(f"--piece-{index}:{body};" for index, (body, _, _) in enumerate(_PIECES)) + "}"
"""Rules for a page that shows the colours of pieces beside boards, as `--piece-N`."""

STYLE = _sheet()
"""Content of a `<style>` element, without characters that need escaping in XML."""
