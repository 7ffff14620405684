"""What an import of the packages sets up."""

from __future__ import annotations

import os
import subprocess
import sys

# So large a system is solved by several threads, where there are several.
SOLVE = """
import os
import agent.search.learning.learner
import numpy
numpy.linalg.solve(numpy.eye(400), numpy.ones(400))
print(len(os.listdir("/proc/self/task")))
"""


def test_linear_algebra_has_no_threads_of_its_own() -> None:
    """They may wait for ever once the process has forked."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    result = subprocess.run([sys.executable, "-c", SOLVE], env=environment, capture_output=True, check=True)
    assert result.stdout == b"1\n"
