"""Which operators, modules and dtypes the built-in suites instantiate in this process."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.errors import UsageError

DTYPE_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
)
SEED = 20261130
TEMPLATES = {
    "opinfo": (
        *("forward", "backward", "second_order", "out", "variants", "noncontiguous", "conj_view", "neg_view"),
        *("dtypes", "errors", "reference", "compile", "compile_dynamic"),
    ),
    "modules": (
        *("forward", "backward", "noncontiguous", "memory_format", "state_dict", "pickle", "to"),
        *("compile", "compile_dynamic"),
    ),
    "models": ("forward", "generate", "backward", "compile"),
}
# They take far longer than the others: they run only where they are named.
ON_DEMAND = ("compile", "compile_dynamic")
ALL_DTYPES = "all"
ONE_DTYPE = "one"


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of the suites that was asked for; empty fields mean everything but the templates of ``ON_DEMAND``.

    ``ops`` and ``templates`` are shell patterns over full operator or module names and over template names without
    ``test_``; ``dtypes`` are torch's names without ``torch.``, or the one word ``all`` (every template runs every dtype
    that an operator declares) or ``one`` (every template runs float32, or the first dtype the operator has). ``tests``
    are exact test ids.
    """

    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the selection in the words of the command line; empty when everything was asked for."""
        parts = []
        if self.ops:
            parts.append(f"--ops {','.join(self.ops)}")
        if self.dtypes:
            parts.append(f"--dtypes {','.join(self.dtypes)}")
        if self.templates:
            parts.append(f"--templates {','.join(self.templates)}")
        parts.extend(f"--test '{test}'" for test in self.tests[:3])
        if len(self.tests) > 3:
            parts.append(f"and {len(self.tests) - 3} more tests")
        return " ".join(parts)

    def has_template(self, template: str) -> bool:
        """Tell whether the template (``forward``) is asked for."""
        if template in ON_DEMAND and not self.templates and not self.tests:
            return False
        if self.templates and not any(fnmatch.fnmatchcase(template, pattern) for pattern in self.templates):
            return False
        return not self.tests or any(f"::test_{template}_" in test for test in self.tests)

    @property
    def compiles(self) -> bool:
        """Tell whether a template is asked for that uses torch.compile."""
        return any(map(self.has_template, ON_DEMAND))

    def has_name(self, name: str, formatted_name: str) -> bool:
        """Tell whether the operator or module is asked for.

        For exact test ids this may let in too much, never too little: no name can be split off a test id, so every
        operator whose formatted name occurs in one is kept and the ids decide later.
        """
        if self.ops and not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.ops):
            return False
        return not self.tests or any(f"_{formatted_name}" in test for test in self.tests)

    def names(self, name: str | None) -> bool:
        """Tell whether ``ops`` lets a full name of an operator or module in; a test without one only if it is empty."""
        if not self.ops:
            return True
        return name is not None and any(fnmatch.fnmatchcase(name, pattern) for pattern in self.ops)

    def has_dtype(self, dtype: str | None) -> bool:
        """Tell whether named ``dtypes`` let a test of that dtype in; ``all`` and ``one`` let in every test."""
        named = [name for name in self.dtypes if name not in (ALL_DTYPES, ONE_DTYPE)]
        return not named or dtype in named

    def check_names(self, names: Iterable[str]) -> None:
        """Raise ``UsageError`` for a pattern that matches no operator or module of ``names``, with the nearest."""
        known = sorted(set(names))
        for pattern in self.ops:
            if not fnmatch.filter(known, pattern):
                near = difflib.get_close_matches(pattern, known, n=3)
                hint = f"; near: {', '.join(near)}" if near else "; `conformance collect` lists what there is"
                raise UsageError(
                    "unknown-operator", f"--ops {pattern}: no operator or module of that name in this torch{hint}"
                )


def parse_selection(
    *, ops: str | None, dtypes: str | None, templates: str | None = None, tests: Sequence[str] = ()
) -> Selection:
    """Read comma-separated option values; raise ``UsageError`` for an unknown dtype."""
    names = [DTYPE_ALIASES.get(name, name) for name in _split(dtypes)]
    for name in names:
        if name in (ALL_DTYPES, ONE_DTYPE) and len(names) > 1:
            raise UsageError("unknown-dtype", f"--dtypes {dtypes}: '{name}' stands alone, without other dtypes")
        if name not in (*DTYPES, ALL_DTYPES, ONE_DTYPE):
            near = difflib.get_close_matches(name, DTYPES, n=3)
            hint = f"; near: {', '.join(near)}" if near else f"; known: {', '.join(DTYPES)}"
            raise UsageError("unknown-dtype", f"--dtypes {name}: torch has no such dtype{hint}")
    known = sorted({name for names in TEMPLATES.values() for name in names})
    wanted = [name.removeprefix("test_") for name in _split(templates)]
    for name in wanted:
        if not fnmatch.filter(known, name):
            raise UsageError("unknown-template", f"--templates {name}: there is none; known: {', '.join(known)}")
    for option, text in (("--ops", ops), ("--dtypes", dtypes), ("--templates", templates)):
        if text is not None and not _split(text):
            raise UsageError("empty-option", f"{option} {text!r} names nothing; leave it out for everything")
    return Selection(
        ops=tuple(_split(ops)),
        dtypes=tuple(dict.fromkeys(names)),
        templates=tuple(wanted),
        tests=tuple(dict.fromkeys(tests)),
    )


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


class ActiveSelection:
    """The selection of this process.

    PyTorch instantiates tests while their module is imported, and pytest imports it by path: there is no call through
    which a selection could be passed, so the plugin leaves it here before collecting.
    """

    device: str = "cpu"
    selection: Selection = Selection()
    compile_backend: str = ""
    why_not_compiled: str = "the device was loaded without torch.compile"


ACTIVE = ActiveSelection()
