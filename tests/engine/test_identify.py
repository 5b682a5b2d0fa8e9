"""Identity: read from the instantiated test, equal on every device."""

from __future__ import annotations

import sqlite3

import pytest

from conformance.engine.identify import generic_class, identity_of
from conformance.model.identity import Suite

GENERIC = """
import torch
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize

class TestThing(TestCase):
    def test_plain(self, device): pass
    @dtypes(torch.float32, torch.int64)
    def test_typed(self, device, dtype): pass
    @dtypes((torch.float32, torch.int64))
    def test_pair(self, device, dtypes): pass
    @parametrize("flag", [True, False])
    @dtypes(torch.float32)
    def test_flag(self, device, dtype, flag): pass
    @ops([op for op in op_db if op.name in ("add", "special.log_ndtr", "div")])
    def test_op(self, device, dtype, op): pass

instantiate_device_type_tests(TestThing, globals())

class TestHost(TestCase):
    @parametrize("n", [1, 2])
    def test_host(self, n): pass

instantiate_parametrized_tests(TestHost)
"""


def _ids(pytester: pytest.Pytester, device: str) -> dict[str, tuple[str | None, str | None, str]]:
    database = pytester.path / f"{device}.sqlite"
    result = pytester.runpytest_subprocess(
        "--conformance-device", device, "--conformance-db", str(database), "-q", "test_thing.py"
    )
    assert result.ret == 0, result.stdout.str()
    connection = sqlite3.connect(database)
    found = {
        test_id: (op, dtype, template)
        for test_id, op, dtype, template in connection.execute("select test_id, op, dtype, template from test_results")
    }
    connection.close()
    return found


def test_ids_are_equal_on_cpu_and_neuron(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_thing=GENERIC)
    on_cpu = _ids(pytester, "cpu")
    on_neuron = _ids(pytester, "neuron")
    assert on_cpu == on_neuron
    assert on_cpu["test_thing.py::TestThing::test_plain"] == (None, None, "test_plain")
    assert on_cpu["test_thing.py::TestThing::test_typed_int64"] == (None, "int64", "test_typed")
    assert on_cpu["test_thing.py::TestThing::test_pair_float32_int64"] == (None, None, "test_pair")
    assert on_cpu["test_thing.py::TestThing::test_flag_flag_True_float32"] == (None, "float32", "test_flag")
    assert on_cpu["test_thing.py::TestThing::test_op_add_float32"] == ("add", "float32", "test_op")
    assert on_cpu["test_thing.py::TestThing::test_op_special_log_ndtr_float32"][0] == "special.log_ndtr"
    assert on_cpu["test_thing.py::TestThing::test_op_div_floor_rounding_float32"][0] == "div.floor_rounding"
    assert on_cpu["test_thing.py::TestHost::test_host_n_1"] == (None, None, "test_host")
    assert not [test_id for test_id in on_cpu if "neuron" in test_id.lower() or "cpu" in test_id.lower()]


@pytest.mark.parametrize("stand_in", ["TestThing", "TestThing_base"])  # torch 2.13, torch 2.6
@pytest.mark.parametrize("suffix", ["CPU", "NEURON", "PRIVATEUSE1"])
def test_the_generic_class_is_found_as_each_torch_writes_it(stand_in: str, suffix: str) -> None:
    device_base = type("DeviceBase", (), {"device_type": "cpu" if suffix == "CPU" else "neuron"})
    instantiated = type(f"TestThing{suffix}", (device_base, type(stand_in, (), {})), {})
    assert generic_class(instantiated) == "TestThing"


def test_a_function_of_a_local_file_keeps_its_parameters(pytester: pytest.Pytester) -> None:
    items = pytester.getitems("import pytest\n@pytest.mark.parametrize('a', ['x/y', 'neuron'])\ndef test_f(a): pass\n")
    identities = [identity_of(item) for item in items]
    assert [identity.test_id.partition("::")[2] for identity in identities] == ["test_f[x/y]", "test_f[neuron]"]
    assert {identity.suite for identity in identities} == {Suite.LOCAL}
    assert {identity.template for identity in identities} == {"test_f"}


def test_a_file_of_a_checkout_is_named_from_its_test_folder(pytester: pytest.Pytester) -> None:
    folder = pytester.path / "pytorch" / "test"
    (folder / "nn").mkdir(parents=True)
    (folder / "run_test.py").write_text("")
    (folder / "nn" / "test_pooling.py").write_text("def test_a(): pass\n")
    (item,), _ = pytester.inline_genitems(str(folder / "nn" / "test_pooling.py"))
    assert identity_of(item).test_id == "nn/test_pooling.py::test_a"
    assert identity_of(item).suite is Suite.UPSTREAM
