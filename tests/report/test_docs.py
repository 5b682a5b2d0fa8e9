"""The glossary and the page of errors say what the code says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
ERRORS = ROOT / "docs" / "errors.md"
NOUNS = """
adapter, attempt, backend, baseline, burn-down, device, engine, expectation, fallback, inventory, node id, operator,
operator status, outcome, overload, probe, profile, run, sample, shard, signature, stale entry, suite, template,
test id, verdict, window, worker, as expected, regression, new failure, fixed, improved, flaky, lost
"""


def definitions(heading: str) -> dict[str, str]:
    section = GLOSSARY.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([a-z_]+)` \| (.+) \|$", section, flags=re.MULTILINE))


def glossary_nouns() -> list[str]:
    return re.findall(r"^- \*\*(.+?)\*\*: \S", GLOSSARY.read_text(), flags=re.MULTILINE)


def test_the_glossary_defines_outcomes_as_the_code_does() -> None:
    assert definitions("Outcomes") == {outcome.value: outcome.definition for outcome in Outcome}


def test_the_glossary_defines_operator_statuses_as_the_code_does() -> None:
    assert definitions("Operator statuses") == {status.value: status.definition for status in OperatorStatus}


def test_the_glossary_has_the_nouns_sorted_and_once() -> None:
    nouns = glossary_nouns()
    assert nouns == sorted(set(nouns))
    assert {noun.strip() for noun in NOUNS.split(",")} <= set(nouns)


class Slugs:
    """The slugs that a source tree raises, read without importing it."""

    def __init__(self, files: dict[str, str]) -> None:
        self.trees = {name: ast.parse(source) for name, source in files.items()}
        self.classes = {"ConformanceError"}
        self.fixed: set[str] = set()
        self.places: dict[str, str] = {}
        self.unreadable: list[str] = []
        self._find_classes()
        for name, tree in self.trees.items():
            self._read(name, tree)

    def _find_classes(self) -> None:
        """Find the children of ConformanceError, and those of them whose callers give no slug."""
        defined = [node for tree in self.trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        size = 0
        while size != len(self.classes):
            size = len(self.classes)
            self.classes |= {node.name for node in defined if {_name(base) for base in node.bases} & self.classes}
        self.fixed = {
            node.name
            for node in defined
            if node.name in self.classes - {"ConformanceError"}
            and any(isinstance(part, ast.FunctionDef) and part.name == "__init__" for part in node.body)
        }

    def _read(self, name: str, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name in self.fixed:
                self._read_calls(name, node, {"__init__"})
        self._read_calls(name, tree, self.classes - self.fixed)

    def _read_calls(self, name: str, tree: ast.AST, callees: set[str]) -> None:
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _name(call.func) in callees:
                slug = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "slug"), None)
                choices = [slug.body, slug.orelse] if isinstance(slug, ast.IfExp) else [slug]
                for choice in choices:
                    if isinstance(choice, ast.Constant) and isinstance(choice.value, str):
                        self.places.setdefault(choice.value, f"{name}:{call.lineno}")
                    else:
                        self.unreadable.append(f"{name}:{call.lineno}")


def _name(node: ast.expr) -> str:
    """Return what is called; pytest and click have a UsageError too, which is not ours."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="pytest" | "click")):
            return ""
        case ast.Attribute(attr=name):
            return name
        case _:
            return ""


def documented() -> list[str]:
    return re.findall(r"^## `([^`]+)`$", ERRORS.read_text(), flags=re.MULTILINE)


def raised() -> Slugs:
    package = ROOT / "conformance"
    return Slugs({path.relative_to(package).as_posix(): path.read_text() for path in sorted(package.rglob("*.py"))})


def test_every_slug_is_a_literal() -> None:
    assert raised().unreadable == []


def test_every_slug_has_a_section_and_every_section_a_slug() -> None:
    places = raised().places
    missing = {slug: place for slug, place in places.items() if slug not in documented()}
    assert missing == {}
    assert set(documented()) - set(places) == set()


def test_slugs_are_kebab_case() -> None:
    assert [slug for slug in raised().places if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)] == []


def test_sections_are_sorted_and_say_what_to_do() -> None:
    slugs = documented()
    assert slugs == sorted(set(slugs))
    sections = re.split(r"^## `[^`]+`$", ERRORS.read_text(), flags=re.MULTILINE)[1:]
    short = [
        slug for slug, text in zip(slugs, sections, strict=True) if "**What to do:** " not in text or len(text) < 80
    ]
    assert short == []


def test_slugs_are_found_in_every_form_the_code_may_use() -> None:
    source = """
class Mine(UsageError):
    def __init__(self) -> None:
        super().__init__("by-subclass", "text")

def fail(which, slug):
    raise errors.InfrastructureError("by-module", "text")
    raise ConformanceError("first" if which else "second", "text")
    raise UsageError(slug="by-keyword", message="text")
    raise Mine()
    raise pytest.UsageError("text")
    raise Other("not-ours", "text")
    raise UsageError(slug, "text")
"""
    errors = "class UsageError(ConformanceError): pass\nclass InfrastructureError(ConformanceError): pass\n"
    slugs = Slugs({"errors.py": errors, "x.py": source})
    assert set(slugs.places) == {"by-subclass", "by-module", "first", "second", "by-keyword"}
    assert slugs.unreadable == ["x.py:13"]
