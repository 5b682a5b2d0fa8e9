"""What the dispatcher says is registered agrees with what the emulated device does."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.on_device


def test_every_overload_is_there_once_and_sorted_and_the_device_stays_uninitialised() -> None:
    import torch

    from conformance.probes.registrations import registrations

    found = [registration.overload for registration in registrations("neuron")]
    known = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    assert found == sorted(known)
    assert len(found) > 3000
    assert not torch.neuron.is_initialized()


@pytest.mark.parametrize("profile", ["default", "full"])
def test_the_profiles_native_operators_have_kernels_and_no_others(profile: str) -> None:
    from conformance import emulator
    from conformance.emulator import operators
    from conformance.model.registration import RegistrationKind
    from conformance.probes.registrations import registrations

    kinds = {registration.overload: registration.kind for registration in registrations("neuron")}
    native = set(operators.native_overloads(emulator.profile()))
    kernels = {overload for overload, kind in kinds.items() if kind is RegistrationKind.KERNEL}
    # The rest are kernels without which a backend cannot exist, and which stand in for the profile's operators.
    assert native <= kernels
    assert len(kernels - native) < 30
    fallbacks = {overload for overload, kind in kinds.items() if kind is RegistrationKind.FALLBACK}
    assert all(operators.has_kernel(overload, "CPU") for overload in fallbacks)
    assert not fallbacks & native
    assert (len(fallbacks) > 300) is (profile == "default")


def test_what_is_registered_is_what_happens() -> None:
    import pytest
    import torch

    from conformance import emulator
    from conformance.model.registration import RegistrationKind
    from conformance.probes.registrations import registrations

    kinds = {registration.overload: registration.kind for registration in registrations("neuron")}
    x = torch.ones(2, 2, device="neuron")
    emulator.counts()
    assert kinds["aten::sin"] is RegistrationKind.KERNEL
    x.sin()
    assert kinds["aten::linear"] is RegistrationKind.COMPOSITE
    torch.nn.functional.linear(x, x)
    assert kinds["aten::special_i0e"] is RegistrationKind.COMPOSITE  # made of its out variant
    assert kinds["aten::special_i0e.out"] is RegistrationKind.FALLBACK
    torch.special.i0e(x)
    counts = emulator.counts()
    assert {"aten::sin", "aten::mm"} <= set(counts.native)
    assert counts.fallback == {"aten::special_i0e.out": 1}
    missing = [overload for overload, kind in kinds.items() if kind is RegistrationKind.MISSING]
    raised = 0
    for overload in missing:
        schema = torch._C._get_schema(*(overload.partition(".")[::2]))
        tensors = [argument for argument in schema.arguments if str(argument.type) == "Tensor"]
        if len(tensors) == len(schema.arguments):  # others need arguments that fit
            with pytest.raises((NotImplementedError, RuntimeError)):
                _call(overload, [x] * len(tensors))
            raised += 1
    assert raised > 5
    assert emulator.counts().fallback == {}


def _call(overload: str, arguments: list[object]) -> None:
    import torch

    name, _, variant = overload.removeprefix("aten::").partition(".")
    getattr(getattr(torch.ops.aten, name), variant or "default")(*arguments)


def test_other_devices_are_asked_by_their_own_key() -> None:
    import pytest

    from conformance.errors import UsageError
    from conformance.model.registration import RegistrationKind
    from conformance.probes.registrations import registrations

    on_cpu = {registration.overload: registration.kind for registration in registrations("cpu")}
    assert on_cpu["aten::special_i0e.out"] is RegistrationKind.KERNEL
    assert RegistrationKind.FALLBACK not in on_cpu.values()
    with pytest.raises(UsageError, match="torch does not know a device 'nosuch'") as caught:
        registrations("nosuch")
    assert caught.value.slug == "unknown-device"
