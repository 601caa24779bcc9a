"""All workloads. Each module of this package declares some, as WORKLOADS."""

import importlib
import pkgutil


def load():
    """In the order of the modules' names, then as declared. -> {name: Workload}"""
    found = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        for workload in importlib.import_module(f"{__name__}.{module.name}").WORKLOADS:
            assert workload.name not in found, workload.name
            found[workload.name] = workload
    return found
