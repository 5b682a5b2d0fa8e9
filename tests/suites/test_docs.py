"""docs/suites.md has the templates that the suites have; their source is read, not imported."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "suites.md"
SUITES = ("opinfo", "modules")
# What choose= and every= stand for in the document; no keyword at all is one dtype.
DTYPES = {
    "_every_dtype": "all",
    "_differentiable_dtypes": "one differentiable",
    "_complex_dtypes": "one complex",
    "_signed_dtypes": "one floating-point or complex",
    "_no_dtype": "none",
}


def tree_of(suite: str) -> ast.Module:
    return ast.parse((ROOT / "conformance" / "suites" / f"{suite}.py").read_text())


def templates(suite: str) -> dict[str, tuple[str, list[str]]]:
    """Return the templates of a suite by name: their dtypes in words, and the tests whose decorators hold."""
    tree = tree_of(suite)
    named = {
        target.id: test
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and (test := upstream_test(node.value, {}))
    }
    found = {}
    for method in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for decorator in method.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "_template":
                name = ast.literal_eval(decorator.args[0])
                assert method.name == f"test_{name}"
                keywords = {keyword.arg: keyword.value for keyword in decorator.keywords}
                upstream = keywords["upstream"]
                assert isinstance(upstream, ast.List)
                tests = [upstream_test(element, named) for element in upstream.elts]
                found[name] = (dtypes_of(keywords), tests)
    return found


def dtypes_of(keywords: dict[str | None, ast.expr]) -> str:
    if "choose" in keywords:
        return DTYPES[ast.unparse(keywords["choose"])]
    return "all" if "every" in keywords and ast.literal_eval(keywords["every"]) else "one"


def upstream_test(node: ast.expr, named: dict[str, str]) -> str:
    """Return a test of PyTorch's as Class::name, '' for an expression that is none."""
    match node:
        case ast.Name(id=name):
            return named.get(name, "")
        case ast.Call(
            func=ast.Name(id="UpstreamTest"), args=[ast.Constant(value=str(cls)), ast.Constant(value=str(name))]
        ):
            return f"{cls}::{name}"
        case ast.Call(func=ast.Name(id="_upstream"), args=[ast.Constant(value=str(name))]):
            return f"TestModule::{name}"
        case _:
            return ""


def documented(suite: str) -> dict[str, tuple[str, list[str]]]:
    section = DOCUMENT.read_text().partition(f"\n## {suite}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \| (.+) \|$", section, flags=re.MULTILINE)
    assert len(rows) == len({name for name, *_ in rows})
    return {name: (dtypes, re.findall(r"`([^`]+)`", tests)) for name, dtypes, tests in rows}


@pytest.mark.parametrize("suite", SUITES)
def test_every_template_is_described_with_its_dtypes_and_decorators(suite: str) -> None:
    found = templates(suite)
    assert len(found) >= 7
    assert all(all(tests) for _, tests in found.values())
    assert documented(suite) == found


@pytest.mark.parametrize("suite", SUITES)
def test_every_test_method_is_a_template(suite: str) -> None:
    methods = {
        node.name.removeprefix("test_")
        for node in ast.walk(tree_of(suite))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert methods == set(templates(suite))


def test_uninitialised_operators_are_named() -> None:
    tree = ast.parse((ROOT / "conformance" / "suites" / "compare.py").read_text())
    (names,) = [
        ast.literal_eval(node.value.args[0])
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "UNINITIALIZED"
        if isinstance(node.value, ast.Call)
    ]
    text = DOCUMENT.read_text().partition("- **Uninitialised results**")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", text)) == set(names)
