"""Skip lists of other projects: one module a format, each with ``read``, ``write`` or both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from importlib import import_module

from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.entry import Skiplist
from conformance.skiplist.formats.exported import NOT_PASSING, Exported, LeftOut
from conformance.skiplist.formats.imported import Imported, ImportOptions, Reading, imported
from conformance.skiplist.known import Known
from conformance.skiplist.vocabulary import Expectation

IMPORTS = {
    "disabled-tests": "PyTorch's and Ascend's JSON of disabled tests",
    "neuron-spec": "TorchNeuron's JSON specs (unconfirmed)",
    "xpu-dict": "torch-xpu-ops' Python dictionaries, parsed and not executed",
    "array-api": "skips and xfails files as of the Array API test suite",
    "spyre-yaml": "torch-spyre's YAML configurations",
    "deselect": "pytest's --deselect arguments",
}

EXPORTS = {
    "disabled-tests": "JSON for PyTorch's DISABLED_TESTS_FILE",
    "test-exclusions": "the dictionary test_exclusions of a PyTorch device test base",
}


def import_list(format_name: str, text: str, source: str, options: ImportOptions) -> Imported:
    """Return the entries that a list of another project becomes, and what of it could not be mapped.

    Raises UsageError (``bad-import``) for a text that is not of that format.
    """
    module = import_module(f"conformance.skiplist.formats.{format_name.replace('-', '_')}")
    read: Callable[[str, str, ImportOptions], Reading] = module.read
    return imported(read(text, source, options), options)


def export_list(
    format_name: str,
    skiplist: Skiplist,
    device: str,
    *,
    expects: Collection[Expectation] = NOT_PASSING,
    context: Context | None = None,
    known: Known | None = None,
    node_ids: Mapping[str, str] | None = None,
) -> Exported:
    """Return the active entries of a list in the form of another project, and what could not be said in it.

    ``node_ids`` are what pytest called the tests of the run ``known``.
    """
    from conformance.skiplist.formats import disabled_tests, exclusions

    conditions = Conditions(context or Context())
    inactive = {entry.id: why for entry in skiplist if (why := conditions.why_inactive(entry))}
    active = [entry for entry in skiplist if entry.id not in inactive]
    if format_name == "disabled-tests":
        exported = disabled_tests.write(active, device, expects, known=known, node_ids=node_ids)
    else:
        exported = exclusions.write(active, expects, known=known)
    left_out = [LeftOut(f"the entry '{entry_id}'", entry_id, why) for entry_id, why in inactive.items()]
    return replace(exported, left_out=(*exported.left_out, *left_out))
