"""Pins every dependency, with hashes and without any address.

`uv run tools/lock.py` writes the lock files and the same pins into `[tool.uv]` of pyproject.toml, which is what
`uv run` obeys; `--upgrade` forgets the old pins first; `--check` only verifies that all of them agree (CI).
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "pyproject.toml"
EXTRAS = ("plot", "png", "web", "export", "tune", "benchmark")
UNLOCKED = ("tensorboard", "wandb", "tpu")  # for loggers and machines of somebody's own
LOCKS = {
    "requirements.lock": [
        "--group",
        "dev",
        "--group",
        "docs",
        *(word for name in EXTRAS for word in ("--extra", name)),
    ],
    "requirements-cuda.lock": ["--extra", "cuda"],
}
COMPILE = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url"]
CONSTRAINTS = re.compile(r"(?<=\nconstraint-dependencies = \[\n).*?(?=^\]$)", re.DOTALL | re.MULTILINE)


def pins(text: str) -> set[str]:
    """The `name==version ; marker` lines of a lock file."""
    return set(re.findall(r"^([A-Za-z0-9][^\s]*==[^\\\n]*?) *\\?$", text, re.MULTILINE))


def write_constraints(names: set[str]) -> None:
    lines = "".join(f'  "{name}",\n' for name in sorted(names))
    PROJECT.write_text(CONSTRAINTS.sub(lambda _: lines, PROJECT.read_text()))


def write(upgrade: bool) -> None:
    known: set[str] = set()
    if upgrade:
        write_constraints(known)
    for name, choice in LOCKS.items():
        if upgrade:
            (ROOT / name).unlink(missing_ok=True)
        command = [*COMPILE, "--custom-compile-command", "uv run tools/lock.py", *choice, "pyproject.toml", "-o", name]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        known |= pins((ROOT / name).read_text())
        write_constraints(known)


def faults() -> list[str]:
    """What disagrees between pyproject.toml and the lock files."""
    project = tomllib.loads(PROJECT.read_text())
    locks = {name: (ROOT / name).read_text() for name in LOCKS}
    out = [f"{name} holds an address" for name, text in locks.items() if "://" in text]
    if "://" in PROJECT.read_text():
        out.append("pyproject.toml holds an address")
    locked = set().union(*map(pins, locks.values()))
    constraints = set(project["tool"]["uv"]["constraint-dependencies"])
    out += [f"{pin} is in only one of pyproject.toml and the lock files" for pin in sorted(locked ^ constraints)]
    table, extras = project["project"], project["project"]["optional-dependencies"]
    groups = [need for group in project["dependency-groups"].values() for need in group]
    direct = [*table["dependencies"], *(need for need in groups if isinstance(need, str))]  # of groups in groups, too
    direct += [need for extra in extras.keys() - set(UNLOCKED) for need in extras[extra]]
    names = {re.split(r"[=\[]", pin)[0] for pin in locked}
    wanted = {re.split(r"[<>=;\[ ]", need)[0].lower() for need in direct}
    return out + [f"{name} is not locked" for name in sorted(wanted - names)]


def main() -> int:
    if "--check" not in sys.argv[1:]:
        write(upgrade="--upgrade" in sys.argv[1:])
    found = faults()
    for fault in found:
        print(f"{fault}; run: uv run tools/lock.py", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
