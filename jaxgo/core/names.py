"""Things by the place where they are written, `package.module:Object`: how people outside the package name theirs."""

import importlib
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

from jaxgo.core.errors import UsageError, check_frozen

MAIN = "__main__"
PLACE = "package.module:Object"  # beside the names that are registered, in a list of what may be said
AS_GAME = "name it yourself, as the game that is played or by --game"


def is_place(name: str) -> bool:
    """Whether this is meant as `package.module:Object`, and not as a registered name."""
    module, colon, path = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *path.split(".")))


def resolve(place: str, what: str = "object") -> Any:
    """What stands at `package.module:Object`; modules of the folder that one is in are found, too."""
    name, _, path = place.partition(":")
    found: Any = sys.modules[MAIN] if name in (MAIN, _main()) else _module(name, place, what)
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except UsageError:  # a module that makes what is asked for says itself why it cannot
            raise
        except AttributeError:
            raise UsageError(f"{what} {place!r}: {name} has no {path}") from None
    return found


def instance(place: str, what: str, kind: type, settings: str = "settings") -> Any:
    """What stands there; a class of this kind is made with its usual settings."""
    found = resolve(place, what)
    if isinstance(found, type) and issubclass(found, kind):
        try:
            return found()
        except TypeError as error:
            told = f"{what} {place!r} cannot be made without {settings}"
            raise UsageError(f"{told} ({error}); give them defaults") from None
    return found


def part(place: str, what: str, kind: type, parent: str) -> Any:
    """What stands there, a frozen value of this kind, as programs need; `parent` is where people find the kind."""
    found = instance(place, what, kind)
    told = f"{what} {place!r} is no {what}"
    if not isinstance(found, kind):
        raise UsageError(f"{told}: let it inherit {parent}")
    check_frozen(found, told, parent)
    return found


def check_loaded(name: str, told: str, advice: str = AS_GAME) -> None:
    """A UsageError where a file of data names code that nobody here has imported: no file chooses what is run.

    What the user names, and what his program is made of, is there before such a file is read. `told`: whose name it is.
    """
    module = name.partition(":")[0]
    if is_place(name) and module not in sys.modules and module not in (MAIN, _main()):
        raise UsageError(f"{told} {name}, a place in code that no file of data may start; to trust it, {advice}")


def place_of(value: Any) -> str:
    """The `package.module:Object` of a class, a function or an object at the top of a module, as `resolve` reads it."""
    kind = value if isinstance(value, type | FunctionType) else type(value)
    module = str(kind.__module__)
    if kind is value:
        path: str | None = kind.__qualname__
    else:
        tops = [(name, vars(sys.modules[name])) for name in (module, MAIN) if name in sys.modules]
        module, path = next(
            ((name, top) for name, names in tops for top, other in names.items() if other is value), (module, None)
        )
    place = f"{(_main() or MAIN) if module == MAIN else module}:{path}"
    if path is None or "<" in path or resolve(place) is not value:
        raise UsageError(f"{value} cannot be found again by a name; define it at the top of a module")
    return place


def package(name: str, what: str, extra: str) -> Any:
    """A package that only some need; a UsageError says for what it is missing, and with which extra it comes."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"{what} needs {name.partition('.')[0]}: {install(extra)}") from None


def install(extra: str) -> str:
    """How an extra of this package comes: pip finds jaxgo itself there, and installs what is missing."""
    return f"`uv sync --extra {extra}` in a clone of jaxgo, `pip install 'jaxgo[{extra}]'` elsewhere"


def _module(name: str, place: str, what: str) -> Any:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{what} {place!r}: {name} cannot be imported ({error})") from None


def _main() -> str | None:
    """The name by which the program that runs could be imported from this folder."""
    main = sys.modules[MAIN]
    if getattr(main, "__spec__", None) is not None:
        return str(main.__spec__.name)  # type: ignore[union-attr]
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).resolve().is_relative_to(Path.cwd()):
        return None
    return ".".join(Path(file).resolve().relative_to(Path.cwd()).with_suffix("").parts)
