"""Write and find the inventories: the operators and modules that torch declares for a device."""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import TYPE_CHECKING

from conformance.errors import ConformanceError
from conformance.store.text import storable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from conformance.model.operator import ModuleInventory, OperatorInfo
    from conformance.store.interning import Interning


def write_inventory(
    connection: sqlite3.Connection,
    interning: Interning,
    run_id: int,
    operators: Iterable[OperatorInfo],
    modules: Iterable[ModuleInventory],
) -> None:
    """Write the inventory unless an equal one is there, and let the run refer to it; call it in a transaction.

    Raises ConformanceError (``duplicate-operator``) when a name appears twice.
    """
    operators = sorted(operators, key=lambda operator: operator.name)
    modules = sorted(modules, key=lambda module: module.name)
    _refuse_duplicates([operator.name for operator in operators])
    _refuse_duplicates([module.name for module in modules])
    torch_version, device = connection.execute(
        "SELECT torch_version, device FROM run WHERE run_id = ?", (run_id,)
    ).fetchone()
    digest = _digest(torch_version, device, operators, modules)
    row = connection.execute("SELECT id FROM inventory WHERE digest = ?", (digest,)).fetchone()
    inventory_id = row[0] if row else None
    if inventory_id is None:
        inventory_id = connection.execute(
            "INSERT INTO inventory (digest, torch_version, device) VALUES (?, ?, ?)", (digest, torch_version, device)
        ).lastrowid
        assert inventory_id is not None
        _write_operators(connection, interning, inventory_id, operators)
        _write_modules(connection, interning, inventory_id, modules)
    connection.execute("UPDATE run SET inventory_id = ? WHERE run_id = ?", (inventory_id, run_id))


def _write_operators(
    connection: sqlite3.Connection, interning: Interning, inventory_id: int, operators: list[OperatorInfo]
) -> None:
    connection.executemany(
        "INSERT INTO inventory_operator (inventory_id, op_id, aten_name, group_id, supports_autograd, supports_out)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                inventory_id,
                interning.name(storable(operator.name)),
                storable(operator.aten_name),
                interning.name(storable(operator.group)),
                int(operator.supports_autograd),
                int(operator.supports_out),
            )
            for operator in operators
        ],
    )
    connection.executemany(
        "INSERT INTO inventory_operator_dtype (inventory_id, op_id, dtype_id, position) VALUES (?, ?, ?, ?)",
        [
            (inventory_id, interning.name(storable(operator.name)), interning.name(storable(dtype)), position)
            for operator in operators
            for position, dtype in enumerate(dict.fromkeys(operator.dtypes))
        ],
    )


def _write_modules(
    connection: sqlite3.Connection, interning: Interning, inventory_id: int, modules: list[ModuleInventory]
) -> None:
    connection.executemany(
        "INSERT INTO inventory_module (inventory_id, module_id) VALUES (?, ?)",
        [(inventory_id, interning.name(storable(module.name))) for module in modules],
    )
    connection.executemany(
        "INSERT INTO inventory_module_dtype (inventory_id, module_id, dtype_id, position) VALUES (?, ?, ?, ?)",
        [
            (inventory_id, interning.name(storable(module.name)), interning.name(storable(dtype)), position)
            for module in modules
            for position, dtype in enumerate(dict.fromkeys(module.dtypes))
        ],
    )


def _digest(torch_version: str, device: str, operators: list[OperatorInfo], modules: list[ModuleInventory]) -> bytes:
    content = [
        torch_version,
        device,
        [
            (item.name, item.aten_name, item.group, item.dtypes, item.supports_autograd, item.supports_out)
            for item in operators
        ],
        [(item.name, item.dtypes) for item in modules],
    ]
    return hashlib.blake2b(json.dumps(content).encode("ascii"), digest_size=16).digest()


def _refuse_duplicates(names: list[str]) -> None:
    for name, following in itertools.pairwise(names):
        if name == following:
            raise ConformanceError("duplicate-operator", f"the inventory has {name!r} twice")
