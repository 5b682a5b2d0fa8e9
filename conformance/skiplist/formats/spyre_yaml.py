"""Read torch-spyre's test configurations (``test_suite_config``): which upstream tests are in which mode.

Names are ``Class::method`` before operator and dtype are filled in; ``mandatory_success`` says that a test passes, so
there is nothing to list. A configuration also says what to run at all (modes of tests that are not listed, supported
operators and dtypes): that is no expectation of a test, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conformance.errors import InfrastructureError, UsageError
from conformance.skiplist.entry import Match
from conformance.skiplist.formats.imported import ImportOptions, Listed, Reading, split_link, under_test_folder
from conformance.skiplist.patterns import literal
from conformance.skiplist.vocabulary import Expectation

_MODES = {"skip": Expectation.SKIP, "xfail": Expectation.FAIL, "xfail_strict": Expectation.FAIL}
_VARIABLE = re.compile(r"^\$\{?\w+\}?/")
_REGEX = re.compile(r"[\\^$+?()\[\]{}|]")
_EDITS = {"ops": "ops", "modules": "modules", "dtypes": "dtypes"}


def read(text: str, source: str, options: ImportOptions) -> Reading:
    """Return what the configuration says.

    Raises UsageError (``bad-import``) for what is no such file, InfrastructureError (``no-yaml``) without PyYAML.
    """
    document = _load(text, source)
    config = document.get("test_suite_config") if isinstance(document, dict) else None
    if not isinstance(config, dict):
        raise UsageError("bad-import", f"{source} has no 'test_suite_config'")
    reading = Reading()
    for file in _dicts(config.get("files")):
        _file(reading, file, options)
    _global(reading, config.get("global"), options)
    return reading


def _load(text: str, source: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise InfrastructureError(
            "no-yaml", "reading YAML needs PyYAML, which is not installed: pip install 'torch-conformance[yaml]'"
        ) from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError("bad-import", f"{source} is not valid YAML: {error}") from None


def _file(reading: Reading, file: dict[str, Any], options: ImportOptions) -> None:
    raw = str(file.get("path", ""))
    path = under_test_folder(_VARIABLE.sub("", raw))
    pattern = _pattern(path)
    if not path or pattern is None:
        reading.leave_out(raw, "its path is no path and no simple pattern")
        return
    mode = str(file.get("unlisted_test_mode", "skip"))
    if mode != "mandatory_success":
        reading.leave_out(f"{path}: unlisted_test_mode: {mode}", "it is about the tests that are not listed")
    for test in _dicts(file.get("tests")):
        for name in _names(test.get("names")):
            _test(reading, name, test, pattern, options)


def _test(reading: Reading, name: str, test: dict[str, Any], file: str, options: ImportOptions) -> None:
    class_name, _, method = name.rpartition("::")
    classes, templates = _pattern(class_name), _pattern(method)
    if not class_name or classes is None or templates is None:
        reading.leave_out(name, "it is not of the form 'Class::method', with '*' or '.*' as the only pattern")
        return
    where = Match(files=(file,), classes=(classes,), templates=(templates,))
    group = class_name.strip(".*") or "tests"
    mode = str(test.get("mode", "mandatory_success"))
    if mode in _MODES:
        expect = options.expect or _MODES[mode]
        reason, link = split_link(str(test.get("reason") or test.get("description") or ""))
        reading.listed.append(Listed(expect, group, match=where, reason=reason, link=link))
    elif mode == "mandatory_success":
        reading.note("it has to pass: there is nothing to list", name)
    else:
        reading.leave_out(f"{name}: mode: {mode}", "the mode is not known")
    edits = test.get("edits")
    for edited, change in edits.items() if isinstance(edits, dict) else ():
        for kind, items in change.items() if isinstance(change, dict) else ():
            if edited in _EDITS and kind == "exclude":
                for item in _dicts(items):
                    _excluded(reading, item, edited, where, group, options)
            else:
                reading.leave_out(f"{name}: edits.{edited}.{kind}", "it changes the test, or adds to what is run")


def _excluded(
    reading: Reading, item: dict[str, Any], edited: str, where: Match, group: str, options: ImportOptions
) -> None:
    """Add an operator, module or dtype for which a test is not run."""
    subject = str(item.get("name", "")).removeprefix("torch.")
    if not subject:
        reading.leave_out(f"{group}: {item}", "it has no name")
        return
    fields = {name: getattr(where, name) for name in ("files", "classes", "templates")}
    match = Match(**fields, **{_EDITS[edited]: (literal(subject),)})
    reason, link = split_link(str(item.get("description") or ""))
    expect = options.expect or Expectation.SKIP
    reading.listed.append(Listed(expect, f"{group}-{subject}", match=match, reason=reason, link=link))


def _global(reading: Reading, config: Any, options: ImportOptions) -> None:
    """Add what is expected to fail everywhere; what is supported is no expectation."""
    if not isinstance(config, dict):
        return
    for key, field in (("supported_ops", "ops"), ("supported_modules", "modules"), ("supported_dtypes", "dtypes")):
        for item in _dicts(config.get(key)):
            subject = str(item.get("name", "")).removeprefix("torch.")
            if item.get("force_xfail") is True and subject:
                expect = options.expect or Expectation.FAIL
                reason, link = split_link(str(item.get("description") or ""))
                match = Match(**{field: (literal(subject),)})
                reading.listed.append(Listed(expect, subject, match=match, reason=reason, link=link))
            else:
                reading.leave_out(f"global.{key}: {subject}", "it says what is run at all")


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (str(name) for name in value)
    elif value is not None:
        yield str(value)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _pattern(name: str) -> str | None:
    """Return a shell pattern for a name in which ``.*`` or ``*`` stands for anything, or None for other patterns."""
    pattern = name.replace(".*", "*")
    return None if _REGEX.search(pattern) else pattern
