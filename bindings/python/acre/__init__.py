"""acre from within a Python program that runs on it.

    acre run -- python3 app.py

What asks the library raises NotActive where the process does not run on acre; is_active() says whether it does. All
functions may be called from any thread. Sizes are in bytes.

CPython keeps objects of up to 512 bytes in memory of its own. PYTHONMALLOC=malloc lets it ask malloc for each, so that
figures, tags and profiles have them, too.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._command import version
    from ._ctl import Ctl, Name, ctl
    from ._library import NotActive, is_active
    from ._profile import Profile, profile
    from ._stats import Stats, purge, stats
    from ._tags import TagInfo, tag, task_factory

__all__ = ["Ctl", "Name", "NotActive", "Profile", "Stats", "TagInfo", "ctl", "is_active", "profile", "purge", "stats",
           "tag", "task_factory", "version"]

# Imported at the first use: the command needs none of it, and begins in less time without.
_MODULES = {"_command": ("version",), "_ctl": ("Ctl", "Name", "ctl"), "_library": ("NotActive", "is_active"),
            "_profile": ("Profile", "profile"), "_stats": ("Stats", "purge", "stats"),
            "_tags": ("TagInfo", "tag", "task_factory")}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return __getattr__("version")()
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'acre' has no attribute '{name}'")
    from importlib import import_module
    value = globals()[name] = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    return value


def __dir__() -> list:  # type: ignore[type-arg]
    return __all__
