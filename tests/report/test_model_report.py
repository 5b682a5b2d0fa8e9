# ruff: noqa: E501 (Markdown stands in one line)
"""The report on one model in its four forms."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser

from expecttest import TestCase

from conformance.readiness.findings import (
    Comparison,
    Compilation,
    Frame,
    OtherSize,
    OverloadUse,
    Place,
    Readiness,
    Standing,
    Trouble,
    Verdict,
    as_json,
    from_json,
)
from conformance.report.layout import width_of
from conformance.report.model_html import render_model_html
from conformance.report.model_json import render_model_json
from conformance.report.model_markdown import render_model_markdown
from conformance.report.model_page import advice, size_word, time_word
from conformance.report.model_text import render_model_text

PLACE = Place("neuron", "emulated neuron", True, "emulator", "0.1.0", "2.13.0", "backend account")
RAN = Readiness(
    model="Net of net.py:model",
    parameters=1234,
    parameter_bytes=4936,
    phases=("forward", "train"),
    place=PLACE,
    verdict=Verdict.FALLBACK,
    sentence="with fallback: 1 of 3 overloads ran on the CPU: aten::i0",
    overloads=(
        OverloadUse("aten::mm", 4, ("forward",), ("float32",), Standing.NATIVE, 0.003, registered="kernel"),
        OverloadUse(
            "aten::i0", 2, ("forward",), ("float32",), Standing.FALLBACK, 0.001, 2, ("aten::i0.out",), 48, "composite"
        ),
        OverloadUse("aten::t", 4, ("forward",), ("float32",), Standing.NATIVE, 0.0, registered="composite"),
    ),
    comparisons=(Comparison("forward", 1, 1e-7), Comparison("train", 5, None, random=True)),
    seconds={"forward": 0.00123, "train": 2.5},
    peak_bytes=12345,
    notes=("Emulated: a stand-in.",),
)
FAILED = Readiness(
    model="Net of <b>net.py</b>:model",
    parameters=10,
    parameter_bytes=40,
    phases=("forward",),
    place=PLACE,
    verdict=Verdict.FAILS,
    sentence="fails at aten::mm, in phase forward: RuntimeError: no | `luck`",
    overloads=(OverloadUse("aten::mm", 1, ("forward",), ("float32",), Standing.FAILS, 0.0),),
    trouble=Trouble(
        "forward",
        "aten::mm",
        "RuntimeError: no | `luck`",
        "float32[2, 3], float32[3, 4]",
        (Frame("net.py", 7, "forward", "return x @ self.w  # \x1b[31m"),),
    ),
)
PREDICTED = Readiness(
    model="Net of net.py:model",
    parameters=10,
    parameter_bytes=40,
    phases=("forward",),
    place=PLACE,
    verdict=Verdict.UNKNOWN,
    sentence="cannot be said: of 2 overloads 1 never measured: aten::rare",
    overloads=(
        OverloadUse("aten::mm", 1, ("forward",), ("float32",), Standing.NATIVE, why="mm is native in float32"),
        OverloadUse("aten::rare", 3, ("forward",), (), Standing.UNMEASURED, why="no operator reaches it"),
    ),
    evidence="run 3 (0123abcd) of nightly.sqlite",
)


class TestText(TestCase):
    def test_a_run_that_fell_back(self) -> None:
        self.assertExpectedInline(
            render_model_text(RAN, top=20),
            """\
Net of net.py:model on EMULATED neuron
with fallback: 1 of 3 overloads ran on the CPU: aten::i0
NOTE: Emulated: a stand-in.
  model     Net of net.py:model, 1,234 parameters, 4.94 kB
  ran       forward, train
  device    emulated neuron (neuron)
  torch     2.13.0
  backend   emulator 0.1.0
  fallbacks seen by: backend account
  compared  forward: 1 tensor equal to the CPU, largest difference 1e-07
  compared  train: shapes and dtypes of 5 tensors equal
  time      forward 1.2 ms, train 2.5 s (a second run that nobody watched)
  memory    at most 12.3 kB
  moved     48 B into and out of calls that fell back

3 overloads: 2 native, 1 fallback
  overload  calls    on device  registered    time  moved
  -------------------------------------------------------
  aten::i0      2  fallback 2x   composite  25.0 %   48 B
  aten::mm      4       native      kernel  75.0 %      -
  aten::t       4       native   composite     0 %      -
""",
        )

    def test_a_run_that_failed_shows_where(self) -> None:
        self.assertExpectedInline(
            render_model_text(FAILED, top=20),
            """\
Net of <b>net.py</b>:model on EMULATED neuron
fails at aten::mm, in phase forward: RuntimeError: no | `luck`
  model     Net of <b>net.py</b>:model, 10 parameters, 40 B
  ran       forward
  device    emulated neuron (neuron)
  torch     2.13.0
  backend   emulator 0.1.0
  fallbacks seen by: backend account
  compared  no data
  memory    no data: the device does not tell

Where
  aten::mm, in phase forward: RuntimeError: no | `luck`
  it was given float32[2, 3], float32[3, 4]
  in your code, the innermost last:
    net.py:7 in forward
        return x @ self.w  # \\x1b[31m

1 overload: 1 fails
  overload  calls  on device  registered     time  moved
  ------------------------------------------------------
  aten::mm      1      fails     no data  no data      -
""",
        )

    def test_what_recorded_results_say(self) -> None:
        self.assertExpectedInline(
            render_model_text(PREDICTED, top=20),
            """\
Net of net.py:model on EMULATED neuron
cannot be said: of 2 overloads 1 never measured: aten::rare
  model     Net of net.py:model, 10 parameters, 40 B
  phases    forward
  results   run 3 (0123abcd) of nightly.sqlite
  device    emulated neuron (neuron)
  torch     2.13.0
  backend   emulator 0.1.0
  fallbacks seen by: backend account

2 overloads: 1 native, 1 never measured
  overload    calls        would be   dtypes
  ------------------------------------------
  aten::rare      3  never measured        -
  aten::mm        1          native  float32

What is not native, and why
  overload    why
  --------------------------------------------------
  aten::rare  never measured: no operator reaches it
""",
        )

    def test_no_line_passes_the_hundredth_column(self) -> None:
        for readiness in (RAN, FAILED, PREDICTED):
            assert max(map(width_of, render_model_text(readiness, top=0).splitlines())) <= 100

    def test_a_list_that_is_cut_says_so(self) -> None:
        assert "... and 2 more; --top 0 shows all" in render_model_text(RAN, top=1)


class TestMarkdown(TestCase):
    def test_a_run_that_failed(self) -> None:
        self.assertExpectedInline(
            render_model_markdown(FAILED, top=20),
            """\
## `Net of <b>net.py</b>:model on EMULATED neuron`

**Verdict:** <code>fails at aten&#58;&#58;mm&#44; in phase forward&#58; RuntimeError&#58; no &#124; &#96;luck&#96;</code>

| | |
|---|---|
| model | `Net of <b>net.py</b>:model, 10 parameters, 40 B` |
| ran | `forward` |
| device | `emulated neuron (neuron)` |
| torch | `2.13.0` |
| backend | `emulator 0.1.0` |
| fallbacks | `seen by: backend account` |
| compared | `no data` |
| memory | `no data: the device does not tell` |

### Where

```
aten::mm, in phase forward: RuntimeError: no | `luck`
it was given float32[2, 3], float32[3, 4]
net.py:7 in forward
    return x @ self.w  # \\x1b[31m
```

### 1 overload: 1 fails

| overload | calls | on device | registered | time | moved |
|---|---|---|---|---|---|
| `aten::mm` | `1` | `fails` | `no data` | `no data` | `-` |
""",
        )


class _Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_html_is_well_formed_and_escapes_what_the_model_is_called() -> None:
    for readiness in (RAN, FAILED, PREDICTED):
        page = render_model_html(readiness, top=20)
        parser = _Balanced()
        parser.feed(page)
        assert parser.open == []
        assert readiness.model.replace("<", "&lt;").replace(">", "&gt;") in page
        assert readiness.sentence in "".join(parser.text)
        assert all(use.name in page for use in readiness.overloads)
        assert "http" not in page


def test_html_shows_at_a_glance_whether_it_runs() -> None:
    classes = [render_model_html(item, top=1).partition('class="verdict ')[2][:5] for item in (RAN, FAILED, PREDICTED)]
    assert classes == ['runs"', "stops", "unkno"]


def test_json_brings_everything_back() -> None:
    for readiness in (RAN, FAILED, PREDICTED):
        document = json.loads(render_model_json(readiness))
        assert document["schema"] == 1
        assert from_json(document) == readiness
        assert as_json(from_json(document)) == as_json(readiness)


def test_sizes_and_times_have_few_digits() -> None:
    assert [size_word(size) for size in (0, 999, 1000, 12345, 5 * 10**9)] == ["0 B", "999 B", "1 kB", "12.3 kB", "5 GB"]
    assert [time_word(value) for value in (0.00012, 0.0123, 0.25, 12.34)] == ["0.12 ms", "12 ms", "250 ms", "12.3 s"]


def test_what_was_compiled_is_told_with_advice_for_sizes_that_vary() -> None:
    sizes = (OtherSize("dimension 0 of 4 instead of 2", 1), OtherSize("dimension 0 of 6 instead of 2", None, "E: no"))
    static = Compilation("compile", "b", 0.5, 2, 1, 1, 10, sizes=sizes)
    refused = Compilation("dynamic", "b", problem="NotImplementedError: no dynamic shapes")
    text = render_model_text(dataclasses.replace(RAN, compilations=(static, refused)), top=0)
    assert "  compiled  static shapes, backend b: equal to the CPU; 2 graphs, 1 break, recompilations: 1," in text
    assert "  compiled  static shapes, dimension 0 of 4 instead of 2: compiled again, 1x\n" in text
    assert "  compiled  static shapes, dimension 0 of 6 instead of 2: E: no\n" in text
    assert "  compiled  dynamic shapes, backend b: NotImplementedError: no dynamic shapes\n" in text
    assert "  advice    Sizes that vary: pad to few sizes (buckets); each new one is compiled anew.\n" in text
    assert "  advice    1 graph break: TORCH_LOGS=graph_breaks names the lines.\n" in text


def test_advice_prefers_dynamic_shapes_where_they_cost_less() -> None:
    again, once = (OtherSize("s", 1),), (OtherSize("s", 0),)
    static = Compilation("compile", "b", 0.5, 2, 0, 4, sizes=again)
    assert advice((static, Compilation("dynamic", "b", 0.5, 1, 0, 0, sizes=once))) == [
        "Sizes that vary: compile with dynamic=True; one compilation took all that were tried."
    ]
    (less,) = advice((static, Compilation("dynamic", "b", 0.5, 3, 0, 2, sizes=again)))
    assert less.startswith("Sizes that vary: with dynamic=True 2 recompilations took all that were tried, with static")
    assert advice((Compilation("compile", "b", 0.5, 1, 0, 0, sizes=once),)) == []


def test_compilations_survive_the_way_through_json() -> None:
    one = Compilation("compile", "b", None, 1, 0, None, sizes=(OtherSize("s", None, "E"),))
    assert from_json(as_json(dataclasses.replace(RAN, compilations=(one,)))).compilations == (one,)
