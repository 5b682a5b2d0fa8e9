"""Read the tests of a JUnit XML file, as pytest, unittest-xml-reporting and this harness write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from xml.etree import ElementTree

from conformance.errors import UsageError
from conformance.model.identity import Identity, Suite
from conformance.model.outcome import Outcome
from conformance.skiplist.dtypes import dtype_at_end
from conformance.skiplist.names import neutral, other_device

_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_BUILT_IN = {Suite.OPINFO.value: Suite.OPINFO, Suite.MODULES.value: Suite.MODULES, Suite.MODELS.value: Suite.MODELS}

# What pytest, its plugins and unittest say of ends that the format has no element for.
_CRASHED = re.compile(r"worker '[^']*' crashed while running")
_TIMED_OUT = re.compile(r"^(?:Failed: )?Timeout [(>]")
_XPASSED = ("[XPASS(strict)]", "Unexpected success")
_XFAIL = "pytest.xfail"

# The worst of two accounts of one test: pytest writes a second case for an error in teardown.
_WORST = (
    Outcome.CRASHED,
    Outcome.OUT_OF_MEMORY,
    Outcome.TIMED_OUT,
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.NOT_RUN,
    Outcome.XPASSED,
    Outcome.XFAILED,
    Outcome.FLAKY,
    Outcome.SKIPPED,
    Outcome.PASSED,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One test case as a file has it: how it is named, and how it ended; ``duration_s`` is in seconds."""

    file: str
    classname: str
    name: str
    outcome: Outcome
    duration_s: float = 0.0
    reason: str = ""
    message: str = ""
    details: str = ""

    @property
    def spelling(self) -> str:
        """Return the case as a person finds it in the file."""
        return "::".join(filter(None, (self.file, self.classname, self.name)))


@dataclass(frozen=True, slots=True)
class Document:
    """The cases of a file; ``timestamps`` and ``hosts`` are those of its suites."""

    cases: tuple[Case, ...]
    timestamps: tuple[str, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A case that cannot be a test of the device, and why."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Mapped:
    """A test under its device-neutral identity; ``node_id`` is its name on the device."""

    identity: Identity
    node_id: str
    case: Case


def read_junit(text: bytes, source: str) -> Document:
    """Read one file. Raises UsageError (``bad-junit``) with the place of what is no JUnit XML."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UsageError("bad-junit", f"{source} is no whole XML file: {error}; was its run killed?") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise UsageError("bad-junit", f"{source} is no JUnit XML: its root is <{root.tag}>, not <testsuites>")
    suites = list(root.iter("testsuite"))
    return Document(
        cases=tuple(case for suite in suites for case in _cases(suite)),
        timestamps=tuple(filter(None, (suite.get("timestamp") for suite in suites))),
        hosts=tuple(dict.fromkeys(filter(None, (suite.get("hostname") for suite in suites)))),
    )


def _cases(suite: ElementTree.Element) -> Iterator[Case]:
    for element in suite.findall("testcase"):
        file = element.get("file") or suite.get("file") or ""
        case = Case(file, element.get("classname") or "", element.get("name") or "", Outcome.PASSED)
        yield _ended(replace(case, duration_s=_seconds(element.get("time"))), element)


def _ended(case: Case, element: ElementTree.Element) -> Case:
    for tag in ("error", "failure"):
        found = element.find(tag)
        if found is not None:
            return _failed(case, tag, found)
    skipped = element.find("skipped")
    if skipped is not None:
        message, kind = skipped.get("message") or (skipped.text or "").strip(), skipped.get("type") or ""
        outcome = Outcome.XFAILED if kind == _XFAIL else _OUTCOMES.get(kind, Outcome.SKIPPED)
        if outcome.is_bad:  # this harness writes so what fails as expected
            return replace(case, outcome=outcome, message=message)
        return replace(case, outcome=outcome, reason=message)
    if element.find("flakyFailure") is not None or element.find("flakyError") is not None:
        return replace(case, outcome=Outcome.FLAKY)
    said = {one.get("name"): one.get("value") or "" for one in element.iter("property")}
    return replace(case, outcome=_OUTCOMES.get(said.get("outcome", ""), Outcome.PASSED))


def _failed(case: Case, tag: str, found: ElementTree.Element) -> Case:
    message, details = (found.get("message") or "").strip(), (found.text or "").strip()
    message = message or details.partition("\n")[0]
    outcome = _OUTCOMES.get(found.get("type") or "")
    if outcome is None:
        outcome = Outcome.FAILED if tag == "failure" else Outcome.ERROR
        if _CRASHED.search(message) or _CRASHED.search(details):
            outcome = Outcome.CRASHED
        elif _TIMED_OUT.search(message):
            outcome = Outcome.TIMED_OUT
        elif message.startswith(_XPASSED):
            return replace(case, outcome=Outcome.XPASSED, reason=message)
    return replace(case, outcome=outcome, message=message, details=details)


def _seconds(text: str | None) -> float:
    try:
        value = float((text or "0").replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0 <= value < 1e9 else 0.0


def map_cases(
    cases: Iterable[Case], *, device: str, suite: Suite, default_file: str = ""
) -> tuple[list[Mapped], list[Unmapped], int]:
    """Return the cases under their device-neutral ids, those that have none, and how many were a second account.

    ``suite`` is where tests come from that are not of a built-in suite; files of ``upstream`` are relative to PyTorch's
    folder ``test``. Where class and method carry the device it is taken out of both. An operator cannot be read from a
    name, a dtype at its end can. Of two accounts of one test the worse one stays.
    """
    mapped: dict[str, Mapped] = {}
    unmapped = []
    again = 0
    for case in cases:
        found = _map(case, device, suite, default_file)
        if isinstance(found, Unmapped):
            unmapped.append(found)
            continue
        known = mapped.get(found.identity.test_id)
        if known is not None:
            again += 1
            if _WORST.index(known.case.outcome) <= _WORST.index(found.case.outcome):
                continue
        mapped[found.identity.test_id] = found
    return list(mapped.values()), unmapped, again


def _map(case: Case, device: str, suite: Suite, default_file: str) -> Mapped | Unmapped:
    if not case.name.strip():
        return Unmapped(case.spelling or "(a case without a name)", "it has no name")
    module, _, class_name = case.classname.rpartition(".")
    if class_name and not _is_class(class_name):
        module, class_name = case.classname, ""
    while _is_class(module.rpartition(".")[2]):
        module = module.rpartition(".")[0]  # the class that a class is nested in
    file = case.file.replace("\\", "/") or (f"{module.replace('.', '/')}.py" if module not in ("", "__main__") else "")
    file = _relative(file, suite) or default_file
    if not file:
        return Unmapped(case.spelling, "neither a file nor a module is named; --file names one for all of these")
    other = other_device(class_name, device)
    if other:
        return Unmapped(case.spelling, f"it is a test of the device '{other}'")
    named = neutral(class_name, case.name, device) or (class_name, case.name)
    base = named[1].partition("[")[0]
    identity = Identity(
        file=file,
        class_name=named[0],
        name=named[1],
        suite=_BUILT_IN.get(file, suite),
        template=base,
        dtype=dtype_at_end(base) or None,
    )
    node_id = "::".join(filter(None, (file, class_name, case.name)))
    return Mapped(identity, node_id, case)


def _is_class(name: str) -> bool:
    """Tell the last part of a dotted name that is a class from one that is a module."""
    return name.lstrip("_")[:1].isupper()


def _relative(file: str, suite: Suite) -> str:
    if suite is not Suite.UPSTREAM:
        return file.removeprefix("./")
    parts = file.split("/")
    place = max((place for place, part in enumerate(parts) if part == "test"), default=-1)
    return "/".join(parts[place + 1 :]).removeprefix("./")
