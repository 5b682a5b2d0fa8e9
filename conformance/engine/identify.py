"""Read a test's device-neutral identity from the instantiated test itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.suites import SUITE_FILES

_BUILT_IN = {path: name for name, path in SUITE_FILES.items()}


def plan_of(item: pytest.Item, *, entry_id: str = "") -> PlannedTest:
    """Return what the plan holds for one collected test; ``entry_id`` names the skiplist's entry that speaks of it."""
    return PlannedTest(node_id=item.nodeid, identity=identity_of(item), entry_id=entry_id)


_IDENTITY = pytest.StashKey[Identity]()


def identity_of(item: pytest.Item) -> Identity:
    """Return the identity of a collected test, which is read once."""
    found = item.stash.get(_IDENTITY, None)
    if found is None:
        found = item.stash[_IDENTITY] = read_identity(item)
    return found


def read_identity(item: pytest.Item) -> Identity:
    """Read the identity of a collected test.

    PyTorch's machinery (torch/testing/_internal/common_device_type.py, ``instantiate_test``) keeps the operator,
    module, dtype and device that it filled in as the default of the test function's ``param_kwargs``. They are read
    there: a test's name cannot be split, since 93 of 702 operator names end in the name of another.
    """
    filled = _filled_in(item)
    suite, file = suite_and_file(item.path, item.config.rootpath)
    cls = getattr(item, "cls", None)
    own_name = getattr(item, "originalname", None) or item.name
    dtypes = _dtype_names(filled)
    template = getattr(_function(item), "__name__", own_name) if filled else own_name
    if not own_name.startswith(template):  # wrapped by a decorator that did not keep the name
        template = own_name
    op, module = filled.get("op"), filled.get("module_info")
    return Identity(
        file=file,
        class_name=generic_class(cls) if cls is not None else "",
        name=_without_device(item.name, _device_of(cls, filled), dtypes),
        suite=suite,
        template=template,
        op=getattr(op, "full_name", None),
        module=getattr(module, "name", None),
        dtype=dtypes[0] if len(dtypes) == 1 else None,
        architecture=filled.get("architecture"),
    )


def _function(item: pytest.Item) -> Any:
    """Return the test function as the class holds it: PyTorch's TestCase wraps the bound method once more."""
    cls = getattr(item, "cls", None)
    name = getattr(item, "originalname", None) or item.name
    return getattr(cls, name, None) if cls is not None else getattr(item, "function", None)


def _filled_in(item: pytest.Item) -> dict[str, Any]:
    for default in getattr(_function(item), "__defaults__", None) or ():
        if isinstance(default, dict) and all(isinstance(key, str) for key in default):
            return default
    return {}


def suite_and_file(path: Path, root: Path) -> tuple[Suite, str]:
    """Return the suite of a file and its name there; local files are named from pytest's root folder."""
    built_in = _BUILT_IN.get(path)
    if built_in is not None:
        return Suite(built_in), built_in
    for parent in path.parents:
        # A PyTorch checkout is known by its test runner, which stands at the top of its test folder.
        if parent.name == "test" and (parent / "run_test.py").is_file():
            return Suite.UPSTREAM, path.relative_to(parent).as_posix()
    try:
        return Suite.LOCAL, path.relative_to(root).as_posix()
    except ValueError:
        return Suite.LOCAL, path.name


def _dtype_names(filled: dict[str, Any]) -> list[str]:
    value = filled.get("dtypes", filled.get("dtype"))
    if value is None:
        return []
    values = value if isinstance(value, (list, tuple)) else [value]
    return [str(dtype).rpartition(".")[2] for dtype in values]


def _device_of(cls: type[Any] | None, filled: dict[str, Any]) -> str | None:
    device = filled.get("device", filled.get("devices"))
    if isinstance(device, (list, tuple)):
        device = device[0] if device else None
    if device is None:
        device = getattr(cls, "device_type", None)
    return str(device).partition(":")[0] if isinstance(device, str) or device is not None else None


def generic_class(cls: type[Any]) -> str:
    """Return the name before instantiation: ``TestCommonNEURON`` and ``TestCommonPRIVATEUSE1`` are ``TestCommon``."""
    # Torch 2.6 derives from an empty class in the generic one's place, whose name it ends in "_base".
    generic = cls.__bases__[-1].__name__.removesuffix("_base")
    name = cls.__name__
    if not hasattr(cls, "device_type") or not name.startswith(generic) or name == generic:
        return name
    suffix = name[len(generic) :]
    return generic if suffix in (str(cls.device_type).upper(), "PRIVATEUSE1") or suffix.isupper() else name


def _without_device(name: str, device: str | None, dtypes: list[str]) -> str:
    if not device:
        return name
    end = f"_{'_'.join(dtypes)}" if dtypes else ""
    suffix = f"_{device}{end}"
    return name[: -len(suffix)] + end if name.endswith(suffix) else name
