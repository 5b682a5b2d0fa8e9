from __future__ import annotations

import time

import pytest

from conformance.analysis.signature import LENGTH_LIMIT, signature

CLOSE = (
    "Tensor-likes are not close! Mismatched elements: N / N (N%) Greatest absolute difference: N at index (N)"
    " (up to N allowed) Greatest relative difference: N at index (N) (up to N allowed)"
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            (
                "Tensor-likes are not close!\n\nMismatched elements: 3 / 25 (12.0%)\n"
                "Greatest absolute difference: 0.0023 at index (1, 2) (up to 1e-05 allowed)\n"
                "Greatest relative difference: inf at index (0,) (up to 1.3e-06 allowed)"
            ),
            CLOSE,
        ),
        (
            (
                "Tensor-likes are not close!\n\nMismatched elements: 1 / 1 (100.0%)\n"
                "Greatest absolute difference: nan at index () (up to 0.001 allowed)\n"
                "Greatest relative difference: nan at index (3, 1, 4) (up to 1e-3 allowed)\n\n"
                "To execute this test, run the following from the base repo dir:\n"
                "    python test/test_ops.py TestCommonNEURON.test_out_add_neuron_float32\n\n"
                "This message can be suppressed by setting PYTORCH_PRINT_REPRO_ON_FAILURE=0"
            ),
            CLOSE,
        ),
        (
            (
                "GradcheckError: Jacobian computed with forward mode mismatch for output 1 with respect to input 0,\n"
                "numerical:tensor([[0., 0.],\n        [1., 0.]])\nanalytical:tensor([[0., 1.]])\n\n"
                "The above quantities relating the numerical and analytical jacobians are computed in fast mode."
            ),
            "GradcheckError: Jacobian computed with forward mode mismatch for output N with respect to input N",
        ),
        (
            "Expected all tensors to be on the same device, but found at least two devices, neuron:0 and cpu!",
            "Expected all tensors to be on the same device, but found at least two devices, neuron:N and cpu!",
        ),
        (
            (
                "NotImplementedError: Could not run 'aten::foo.out' with arguments from the 'neuron' backend. "
                "This could be because the operator doesn't exist for this backend, or was omitted during the "
                "selective/custom build process. 'aten::foo.out' is only available for: [CPU, Meta].\n\n"
                "CPU: registered at /pytorch/build/aten/src/ATen/RegisterCPU_2.cpp:2312 [kernel]"
            ),
            "NotImplementedError: Could not run 'aten::foo.out' with arguments from the 'neuron' backend.",
        ),
        (
            "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'",
            "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'",
        ),
        (
            "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)",
            "mat1 and mat2 shapes cannot be multiplied (N and N)",
        ),
        (
            "The size of tensor a (5) must match the size of tensor b (10) at non-singleton dimension 1",
            "The size of tensor a (N) must match the size of tensor b (N) at non-singleton dimension N",
        ),
        (
            "shape '[2, -1]' is invalid for input of size 15",
            "shape '[N]' is invalid for input of size N",
        ),
        (
            "The values for attribute 'shape' do not match: torch.Size([2, 3]) != torch.Size([]).",
            "The values for attribute 'shape' do not match: torch.Size([N]) != torch.Size([N]).",
        ),
        (
            "The values for attribute 'dtype' do not match: torch.float32 != torch.bfloat16.",
            "The values for attribute 'dtype' do not match: torch.float32 != torch.bfloat16.",
        ),
        (
            "Scalars are not close!\n\nExpected 1.5 but got nan.\nAbsolute difference: nan (up to 1e-05 allowed)",
            "Scalars are not close! Expected N but got N. Absolute difference: N (up to N allowed)",
        ),
        (
            "<function conv2d at 0x7f3a9c0b1d30> failed at 0xDEADBEEF",
            "<function conv2d at ADDRESS> failed at ADDRESS",
        ),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tmpab12_x9/model.pt'",
            "FileNotFoundError: [Errno N] No such file or directory: 'PATH'",
        ),
        (
            'File "/usr/lib/python3.11/site-packages/torch/_ops.py", line 1123, in __call__',
            'File "_ops.py", line N, in __call__',
        ),
        (
            'File "/tmp/torchinductor_root/ab/cab3fz5.py", line 12, in call',
            'File "PATH", line N, in call',
        ),
        (
            'self.size(-1) INTERNAL ASSERT FAILED at "../aten/src/ATen/native/Copy.cpp":342, please report a bug',
            'self.size(N) INTERNAL ASSERT FAILED at "Copy.cpp":N, please report a bug',
        ),
        (
            'INTERNAL ASSERT FAILED at "/pytorch/aten/src/ATen/native/Copy.cpp":99, please report a bug',
            'INTERNAL ASSERT FAILED at "Copy.cpp":N, please report a bug',
        ),
        (
            "neuron out of memory. Tried to allocate 20.00 MiB (NC 3; 15.78GiB total; process 12345)",
            "neuron out of memory. Tried to allocate N MiB (NC N; NGiB total; process N)",
        ),
        ("Fatal Python error: Segmentation fault (signal 11)", "Fatal Python error: Segmentation fault (signal 11)"),
        ("it exited with code 3 in the middle of the test", "it exited with code 3 in the middle of the test"),
        ("exited in the middle of the test with exit code 134", "exited in the middle of the test with exit code 134"),
        ("exceeded its time limit of 60.5s and was killed", "exceeded its time limit of Ns and was killed"),
        (
            "linalg.svd: The algorithm failed to converge because of 3 (of 1,024) values",
            "linalg.svd: The algorithm failed to converge because of N (of N,N) values",
        ),
        (
            (
                "RuntimeError: log1p_cpu failed\n\nException: Caused by sample input at index 3: SampleInput("
                'input=Tensor[size=(5, 5), device="neuron:0", dtype=torch.float32], args=(), kwargs={})'
            ),
            "RuntimeError: log1p_cpu failed",
        ),
        (
            "Exception: Caused by sample input at index 3: SampleInput(input=Tensor[size=(5, 5)])",
            "Exception: Caused by sample input at index N: SampleInput(input=Tensor[size=(N)])",
        ),
        ("difference: 3.087016614555793e-07 at 12345678e-09", "difference: N at N"),
        (
            "AssertionError: result is wrong\n\n41 of 42 samples passed; the first failure: sample 3: float32[2]",
            "AssertionError: result is wrong",
        ),
        ("NEFF 3f2a9c0b1d30ee77 not found", "NEFF HASH not found"),
        ("run 123e4567-e89b-12d3-a456-426614174000 ended", "run HASH ended"),
        ("1D tensors expected, but got 2D and 3D tensors", "1D tensors expected, but got 2D and 3D tensors"),
        ("complex value (1+2j) or 3.5e-07j at dim=-1", "complex value (N+N) or N at dim=N"),
        ("\x1b[31mAssertionError\x1b[0m: False is not true", "AssertionError: False is not true"),
        ("<b>bold</b> and a/b and and/or stay", "<b>bold</b> and a/b and and/or stay"),
        ("AssertionError: \n   spaced \t out", "AssertionError: spaced out"),
        ("", ""),
    ],
)
def test_signature(message: str, expected: str) -> None:
    assert signature(message) == expected
    assert signature(expected) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("not implemented for 'Half'", "not implemented for 'BFloat16'"),
        ("torch.float32 is wrong", "torch.float64 is wrong"),
        ("Could not run 'aten::sin'", "Could not run 'aten::asin'"),
        ("at least two devices, neuron:0 and cpu", "at least two devices, neuron:0 and meta"),
        ("Segmentation fault (signal 11)", "Segmentation fault (signal 6)"),
        ("conv1d failed", "conv2d failed"),
        ("Greatest absolute difference: 1", "Greatest relative difference: 1"),
    ],
)
def test_different_causes_stay_apart(one: str, other: str) -> None:
    assert signature(one) != signature(other)


def test_a_signature_has_a_limit_and_is_its_own_signature() -> None:
    long = signature("word 1 " * 1000)
    assert len(long) <= LENGTH_LIMIT
    assert signature(long) == long


def test_a_hostile_text_does_not_take_forever() -> None:
    begun = time.perf_counter()
    for part in (
        "/",
        "a/",
        "[",
        "1",
        "1,",
        "0x",
        "f",
        "-1",
        "a1b2",
        "x1",
        "Caused by sample input at index 1: ",
        "(N, ",
    ):
        assert len(signature(part * (100_000 // len(part)))) <= LENGTH_LIMIT
    assert time.perf_counter() - begun < 2
