"""Which operators a failure is about."""

from __future__ import annotations

import pytest

from conformance.analysis.named import blamed, called_names, named_overloads, packet_of


def details(code: str, *, file: str = "transformers/models/x/modeling_x.py", error: str = "RuntimeError: no") -> str:
    return (
        'Traceback (most recent call last):\n  File "torch/nn/modules/module.py", line 1, in _call_impl\n'
        f"    return forward_call(*args)\n           ^^^^^^^^^^^^\n"
        f'  File "{file}", line 449, in forward\n{code}\n{error}\n'
        "\nThe above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "a/suite.py", line 1, in run\n    return torch.sort(x)\nX: y'
    )


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (
            "NotImplementedError: Could not run 'aten::add.out' with arguments from the 'neuron' backend. This is so.",
            ("aten::add.out",),
        ),
        ("Could not run 'torchvision::nms' with arguments from", ("torchvision::nms",)),
        ("The operator 'aten::histc' is not currently implemented. Please ask", ("aten::histc",)),
        ("aten::b and aten::a.x, then aten::b", ("aten::a.x", "aten::b")),
        ("NotImplementedError: \"histogram_cpu\" not implemented for 'Int'", ()),
        ("in at::native::add and models::TestModels::test_forward_llama", ()),
        ("", ()),
    ],
)
def test_what_a_message_names(message: str, found: tuple[str, ...]) -> None:
    assert named_overloads(message) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("    x = torch.histc(y, bins=self.n)", {"histc"}),
        ("    x = self.norm(torch.histc(y))", {"norm", "histc"}),
        ("    x = self.norm(torch.histc(y))\n                  ^^^^^^^^^^^^^^", {"histc"}),
        ("    x = (a + b).sum(-1)[0].exp_()", {"sum", "exp_"}),
        ("    x = a @ b", set()),
        ('    raise ValueError(f"size {x.size(0)}")', set()),
        ("    assert x.all()", set()),
    ],
)
def test_what_the_line_that_raised_calls(code: str, found: set[str]) -> None:
    assert called_names(details(code)) == found


def test_lines_of_the_harness_and_texts_without_a_traceback_call_nothing() -> None:
    for file in ("x/conformance/suites/compare.py", "torch/testing/_internal/common_utils.py"):
        assert called_names(details("    torch.equal(a, b)", file=file)) == frozenset()
    assert called_names('Fatal Python error: Aborted\n  File "x.py", line 1 in forward') == frozenset()
    assert called_names("") == frozenset()


def test_the_message_comes_before_the_line_and_a_fallback_before_a_guess() -> None:
    text = details("    x = torch.histc(y)")
    assert blamed("Could not run 'aten::sort'", text, ("aten::histc",), {"histc"}) == ("aten::sort",)
    assert blamed("no", text, ("aten::histc", "aten::sort"), {"histc"}) == ("aten::histc",)
    assert blamed("no", text, ("aten::histc_x",), {"histc"}) == ("histc",)
    assert blamed("no", text, (), set()) == ()
    assert blamed("no", details("    x = torch.histc(y.sort())"), (), {"histc", "sort"}) == ()


def test_the_packet_of_an_overload_is_its_name_without_the_rest() -> None:
    assert [packet_of(name) for name in ("aten::add_.Tensor", "aten::histc", "histc")] == ["add_", "histc", "histc"]
