"""Aspiration windows: a search in a narrow window around the expected score, moved while it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def search_around(
    guess: int, widths: Sequence[int], lowest: int, highest: int, search: Callable[[int, int], int | None]
) -> int | None:
    """Returns the score, by narrow windows and, if all of them fail, by (`lowest`, `highest`).

    `search` takes alpha and beta and returns a fail-soft score, or None when stopped, which is returned at once. The
    first window reaches `widths[0]` to both sides of the guess; the next begin where the last search failed and reach a
    further `widths[1]`, `widths[2]` ... beyond. Empty `widths` mean the open window.
    """
    if widths:
        alpha, beta = max(lowest, guess - widths[0]), min(highest, guess + widths[0])
        for width in (*widths[1:], 0):
            score = search(alpha, beta)
            if score is None or alpha < score < beta:
                return score
            if score <= alpha:
                alpha, beta = max(lowest, score - width), score + 1
            else:
                alpha, beta = score - 1, min(highest, score + width)
    return search(lowest, highest)
