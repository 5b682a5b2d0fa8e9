"""Read torch-xpu-ops' skip lists: Python dictionaries of test files, parsed and never executed.

``skip_dict = {"test_ops_xpu.py": ("_jiterator_", "test_out_add_xpu_float32"), "test_nn_xpu.py": None}``; its runner
passes the texts to ``pytest -k "not a and not b"``, so each is a part of a name (test/xpu/run_test_with_skip.py). The
comment above a text is the reason, as far as anybody can tell.
"""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass

from conformance.errors import UsageError
from conformance.skiplist.entry import Match
from conformance.skiplist.formats.imported import ImportOptions, Listed, Reading, split_link, under_test_folder
from conformance.skiplist.names import neutral_method
from conformance.skiplist.patterns import literal
from conformance.skiplist.vocabulary import Expectation


def read(text: str, source: str, options: ImportOptions) -> Reading:
    """Return what the dictionaries say; raises UsageError (``bad-import``) for what is no Python."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError("bad-import", f"{source}{line} is not valid Python: {error}") from None
    return _Reader(text, options).read(module)


@dataclass(frozen=True, slots=True)
class _Comments:
    """The comments that fill lines of their own, by line, and those behind code."""

    own: dict[int, str]
    behind: dict[int, str]


class _Reader:
    """Walk the assignments of a module."""

    def __init__(self, text: str, options: ImportOptions) -> None:
        self.options = options
        self.comments = _comments(text)
        self.constants: dict[str, str] = {}
        self.reading = Reading()

    def read(self, module: ast.Module) -> Reading:
        for statement in module.body:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self._assignment(name, value)
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                    self._leave_out(statement, "it changes a list while the program runs, which is not executed")
                case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
                    pass
                case _:
                    self._leave_out(statement, "it is a statement, which is not executed")
        return self.reading

    def _assignment(self, name: str, value: ast.expr) -> None:
        text = self._text(value)
        if text is not None:
            self.constants[name] = text
        elif isinstance(value, ast.Dict):
            self._dictionary(value)
        else:
            self._leave_out(value, f"'{name}' is no dictionary of test files")

    def _dictionary(self, value: ast.Dict) -> None:
        texts = [self._text(key) if key is not None else None for key in value.keys]
        for position, (key, file, names) in enumerate(zip(value.keys, texts, value.values, strict=True)):
            if key is None or file is None:
                self._leave_out(key or names, "its key is computed, and nothing is executed")
            elif file in texts[position + 1 :]:
                self._leave_out(key, "the file is named again further down, and there it counts")
            elif isinstance(names, ast.Constant) and names.value is None:
                self.reading.note("the whole file runs: there is nothing to list", file)
            elif isinstance(names, ast.Tuple | ast.List | ast.Set):
                self._file(file, names)
            elif self._text(names) is not None:
                self._leave_out(names, "a text in place of a tuple: a comma is missing behind it")
            else:
                self._leave_out(names, "its list is computed, and nothing is executed")

    def _file(self, file: str, names: ast.Tuple | ast.List | ast.Set) -> None:
        path = under_test_folder(file)
        stem = path.removesuffix(".py")
        path = f"{stem.removesuffix(f'_{self.options.device}')}.py" if path.endswith(".py") else path
        previous = names.lineno
        remark = ""
        for element in names.elts:
            remark = self._remark(previous, element.lineno, remark)
            previous = element.end_lineno or element.lineno
            name = self._text(element)
            if name is None or not name.strip():
                self._leave_out(element, "it is computed or empty, and nothing is executed")
                continue
            if ":" in name:
                self._leave_out(element, "it has a colon, which no name of a test has")
                continue
            reason, link = split_link(self.comments.behind.get(previous, "") or remark)
            match = Match(names=self._patterns(name), files=(literal(path),))
            expect = self.options.expect or Expectation.SKIP
            group = stem.rpartition("/")[2]
            self.reading.listed.append(Listed(expect, group, match=match, reason=reason, link=link))

    def _patterns(self, name: str) -> tuple[str, ...]:
        """Return patterns for what ``-k`` finds anywhere in a name; one that carries the device is a whole name."""
        device = self.options.device
        plain = neutral_method(name, device)
        if plain is not None and plain.startswith("test"):
            if name.endswith(f"_{device}"):
                self.reading.note("it is taken for a whole name, though -k would find it with any dtype too", name)
            return (literal(plain),)
        self.reading.note("it is a part of names: it holds for every test whose name has it", name)
        found = f"*{literal(name)}*"
        # The device may be that of the test, which is not in device-neutral names, or a parameter's.
        head, mark, tail = name.rpartition(f"_{device}")
        return (found, f"*{literal(head + tail)}*") if mark and head and tail[:1] in ("", "_") else (found,)

    def _remark(self, after: int, before: int, current: str) -> str:
        """Return the last block of comments between two lines; where there is none, the one before still holds."""
        block: list[str] = []
        for line in range(after, before):
            comment = self.comments.own.get(line)
            if comment is None:
                continue
            block = [*block, comment] if line - 1 in self.comments.own else [comment]
        return " ".join(block) if block else current

    def _text(self, node: ast.expr | None) -> str | None:
        """Return a text that stands there or is put together of constants."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self.constants.get(name)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right])
            case ast.JoinedStr(values=values):
                return self._joined(values)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._text(value)
            case _:
                return None

    def _joined(self, parts: list[ast.expr]) -> str | None:
        texts = [self._text(part) for part in parts]
        return None if None in texts else "".join(text for text in texts if text is not None)

    def _leave_out(self, node: ast.AST, why: str) -> None:
        text = " ".join(ast.unparse(node).split())
        self.reading.leave_out(text[:100], why, getattr(node, "lineno", 0))


def _comments(text: str) -> _Comments:
    own: dict[int, str] = {}
    behind: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            comment = token.string.lstrip("# ").strip()
            if not token.line[: token.start[1]].strip():
                # A test that is commented out explains nothing about the next one.
                if not comment.startswith(('"', "'")):
                    own[line] = comment
            else:
                behind[line] = comment
    return _Comments(own, behind)
