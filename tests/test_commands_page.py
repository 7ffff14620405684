"""docs/commands.md is what `docs/make_commands.py` writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "docs" / "make_commands.py"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of argparse lay help texts out otherwise")
def test_page_of_commands_is_up_to_date() -> None:
    """Whoever changes a help text runs `python docs/make_commands.py`."""
    spec = importlib.util.spec_from_file_location("make_commands", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page()
