"""Read what pytest calls tests as exact ids or patterns."""

from __future__ import annotations

from conformance.skiplist.entry import Match
from conformance.skiplist.formats.imported import under_test_folder
from conformance.skiplist.names import neutral
from conformance.skiplist.patterns import literal


def read_node_id(node_id: str, device: str) -> tuple[str, Match] | None:
    """Return the exact test id that the start of a node id means, or else patterns; None for what is no node id.

    Lists of node ids hold their beginnings: ``a.py::TestA`` is a class and ``a.py::TestA::test_x`` every test whose
    name begins with ``test_x``. Only a name that carries the device or its parameters is known to be whole.
    """
    path, _, rest = node_id.partition("::")
    base, bracket, parameters = rest.partition("[")
    parts = base.split("::") if base else []
    file = under_test_folder(path)
    if not file or not path.endswith((".py", "/")) or not all(parts) or len(parts) > 2 or "*" in base:
        return None
    if path.endswith("/"):
        return None if rest else ("", Match(files=(f"{literal(file)}/*",)))
    files = (literal(file),)
    if not parts:
        return "", Match(files=files)
    *classes, name = parts
    if bracket:
        plain = neutral(classes[0], f"{name}[{parameters}", device) if classes else None
        return "::".join([file, *(plain or (*classes, f"{name}[{parameters}"))]), Match()
    if classes:
        plain = neutral(classes[0], name, device)
        if plain is not None:
            return "::".join([file, *plain]), Match()
        return "", Match(files=files, classes=(literal(classes[0]),), names=(f"{literal(name)}*",))
    if name.startswith("test"):
        return "", Match(files=files, names=(f"{literal(name)}*",))
    return "", Match(files=files, classes=(f"{literal(_generic(name, device))}*",))


def _generic(class_name: str, device: str) -> str:
    """Return a class without the device at its end: a whole class is meant, whatever its methods are called."""
    for end in (device.upper(), "PRIVATEUSE1"):
        if class_name.endswith(end) and class_name != end:
            return class_name[: -len(end)]
    return class_name
