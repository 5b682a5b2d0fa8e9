"""Recording which overloads architectures call, in a process of its own: it pretends to have a device."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("transformers")

_SCRIPT = """
import json, os
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
from conformance.errors import InfrastructureError
from conformance.readiness.calls import record_calls
seen = []
try:
    found = record_calls(names={"gpt2", "mixtral", "gemma3n"}, progress=seen.append)
except InfrastructureError as error:
    print(json.dumps({"slug": error.slug}))
else:
    print(json.dumps({"seen": seen, "overloads": found.overloads, "unseen": found.unseen, "torch": found.torch}))
"""


def test_what_an_architecture_calls_is_seen_without_a_device() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    if found.get("slug") == "unsupported-torch":
        pytest.skip("this torch cannot pretend to have a device")
    assert found["seen"] == ["gemma3n", "gpt2", "mixtral"]
    assert "+" not in found["torch"]
    assert {"aten::addmm", "aten::native_layer_norm", "aten::embedding_dense_backward"} <= set(
        found["overloads"]["gpt2"]
    )
    # What a mixture of experts counts with on a device that is not the CPU.
    assert "aten::histc" in found["overloads"]["mixtral"]
    assert "gemma3n" in {*found["unseen"], *found["overloads"]}
    assert "gpt2" not in found["unseen"]
