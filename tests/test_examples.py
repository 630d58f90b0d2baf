"""Every file of `examples/` runs as it is, and is short."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import quick

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(path):
    assert len(path.read_text().splitlines()) < 100


@pytest.mark.slow
@pytest.mark.timeout(700)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path):
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".cache" / "jax"), "XLA_FLAGS": quick.FLAGS}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "it shows something"
