"""Say which part of PyTorch's repository the test files need; the rest comes with the wheel or not at all."""

from __future__ import annotations

TESTS = "test"
VERSION_FILE = "version.txt"
# `tools` is imported by test/run_test.py and by some test files, such as test_cuda_expandable_segments.py.
FOLDERS = (TESTS, "tools")
# Read by tests that compare the installed torch with its sources; seen in v2.6.0.
FILES = (
    VERSION_FILE,
    "aten/src/ATen/native/native_functions.yaml",  # test_namedtuple_return_api.py
    "aten/src/ATen/native/ts_native_functions.yaml",  # lazy/test_ts_opinfo.py
    "aten/src/ATen/native/tags.yaml",  # belongs to native_functions.yaml
    "aten/src/ATen/native/BinaryOps.cpp",  # test_ops.py, test_pointwise_tag_coverage
    "aten/src/ATen/native/PointwiseOps.cpp",
    "aten/src/ATen/native/TensorCompare.cpp",
    "aten/src/ATen/native/UnaryOps.cpp",
)


def is_wanted(path: str) -> bool:
    """Tell whether a file of the repository, as ``test/nn/test_pooling.py``, belongs into a checkout."""
    return path in FILES or path.partition("/")[0] in FOLDERS


def lacking(present: set[str]) -> list[str]:
    """Return what a source does not have, of the files and folders that are wanted beside the tests."""
    folders = [f"{folder}/" for folder in FOLDERS if not any(path.startswith(f"{folder}/") for path in present)]
    return folders + [file for file in FILES if file not in present]
