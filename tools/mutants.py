"""Do the tests notice when the code is wrong? `uv run tools/mutants.py --only a04,c1` or without words for all.

Each mutation of tools/mutants.toml is made in a worktree of its own of the last commit, the tests that it names are
run there, and what they said of it is printed: killed, or survived. One whose text the code no longer has is stale:
adapt it. All of them take hours; who changes a file runs those of the file (`--file arena/openings`).
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
PASSED, FAILED, NONE = 0, 1, 5  # what pytest says; anything else is a fault of the mutation's own
NOTICED_NOTHING, NO_TESTS = "SURVIVED", "broken: its words name no tests"


class Mutant(NamedTuple):
    """A change that makes the code wrong."""

    id: str
    file: str
    old: str
    new: str
    tests: str  # words for pytest
    equal: bool = False  # nobody can notice


def mutants(path: Path = LIST) -> list[Mutant]:
    return [Mutant(**record) for record in tomllib.loads(path.read_text())["mutant"]]


def chosen(only: str, file: str) -> list[Mutant]:
    """Those that the user names; all, but those that nobody can notice, where none is named."""
    wanted = {word for word in only.split(",") if word}
    unknown = wanted - {mutant.id for mutant in mutants()}
    if unknown:
        sys.exit(f"no mutation is called {', '.join(sorted(unknown))}; see {LIST.relative_to(ROOT)}")
    return [m for m in mutants() if (m.id in wanted if wanted else not m.equal and file in m.file)]


def is_stale(mutant: Mutant, root: Path = ROOT) -> bool:
    path = root / mutant.file
    return not path.exists() or path.read_text().count(mutant.old) != 1


def judge(mutant: Mutant, home: Path, seconds: float) -> str:
    """What the tests of a mutation say of it."""
    if is_stale(mutant, home):
        return "stale: its text is not in the file, or not once"
    path = home / mutant.file
    sound = path.read_text()
    path.write_text(sound.replace(mutant.old, mutant.new))
    asked: list[str] = []
    try:
        for mark in ("not slow", "slow"):  # the slow ones are asked where the others notice nothing
            asked.append(_ask(mutant, home, mark, seconds))
            if asked[-1] not in (NOTICED_NOTHING, NO_TESTS):
                return asked[-1]
    finally:
        path.write_text(sound)
    return NOTICED_NOTHING if NOTICED_NOTHING in asked else NO_TESTS


def _ask(mutant: Mutant, home: Path, mark: str, seconds: float) -> str:
    # the worktree's package comes before the installed one
    env = os.environ | {"PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-n", "0", "--durations=0", "-p", "no:cacheprovider", "-m", mark]
    try:
        ran = subprocess.run(
            [*words, *mutant.tests.split()], cwd=home, env=env, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"unknown: the tests did not end within {seconds:g} s"  # a loop without end, or a busy machine
    if ran.returncode in (PASSED, NONE):
        return NOTICED_NOTHING if ran.returncode == PASSED else NO_TESTS
    found = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if ran.returncode != FAILED or not found:
        return f"broken: pytest ended with {ran.returncode}: {(ran.stdout + ran.stderr).strip()[-200:]}"
    return f"killed: {found[0].split(' - ')[0].partition(' ')[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="ID,ID", help="these mutations and no others")
    parser.add_argument("--file", default="", metavar="PART", help="those of files with this in their path")
    parser.add_argument("--stale", action="store_true", help="only tell which no longer fit the code")
    parser.add_argument("--seconds", type=float, default=900.0, help="a mutation's tests may take so long")
    options = parser.parse_args()
    some = chosen(options.only, options.file)
    if options.stale:
        stale = [mutant.id for mutant in some if is_stale(mutant)]
        print(f"{len(some)} mutations, stale: {', '.join(stale) or 'none'}")
        sys.exit(bool(stale))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the worktree goes, whatever ends this
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "tree")
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "-q", "--detach", str(home), "HEAD"], check=True)
        try:
            if (ROOT / ".cache").exists():  # programs that are compiled already
                (home / ".cache").symlink_to((ROOT / ".cache").resolve())
            lived = 0
            for mutant in some:
                said = judge(mutant, home, options.seconds)
                lived += not said.startswith("killed")
                print(f"{mutant.id:5} {mutant.file}: {said}", flush=True)
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(home)], check=True)
    print(f"{len(some) - lived} of {len(some)} killed")
    sys.exit(bool(lived))


if __name__ == "__main__":
    main()
