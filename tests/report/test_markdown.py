# ruff: noqa: E501 (a line of Markdown is as long as it is)
from __future__ import annotations

import re
import tempfile
from pathlib import Path

from expecttest import TestCase
from markdown_it import MarkdownIt

from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.report.findings import collect_findings
from conformance.report.markdown import render_markdown
from conformance.store import Database
from tests.report.runs import id_of, write_run
from tests.sample_run import build_sample

OWN_TAGS = set(
    re.findall(r"\w+", "h2 h3 p ul li table thead tbody tr th td code pre details summary strong blockquote")
)


def render(path: Path, run_id: int = 1, top: int = 20) -> str:
    with Database.open_existing(path) as db:
        return render_markdown(collect_findings(db, run_id, top=top))


class TestMarkdown(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_shows_a_run_with_everything(self) -> None:
        path = build_sample(self.folder / "sample.sqlite", operators=13)
        self.assertExpectedInline(
            render(path, top=2),
            """\
## Run 1 on `neuron`: complete

Suites `opinfo`, `modules`, `local` on `emulated neuron` with torch `2.13.0` and `conformance emulator 0.1.0`.
Fallbacks were seen by: `observer`.

> [!WARNING]
> **Emulated**: a stand-in ran in place of the device; these results say nothing about the hardware.

> [!WARNING]
> **Incomplete**: the run is complete; 4 of 145 planned tests have no result.

### Outcomes

| outcome | tests | share |
| --- | ---: | ---: |
| passed | 96 | 66.2 % |
| failed | 19 | 13.1 % |
| error | 1 | 0.7 % |
| skipped | 12 | 8.3 % |
| xfailed | 4 | 2.8 % |
| xpassed | 1 | 0.7 % |
| crashed | 2 | 1.4 % |
| timed out | 2 | 1.4 % |
| out of memory | 2 | 1.4 % |
| flaky | 2 | 1.4 % |
| not run | 4 | 2.8 % |
| **planned** | **145** | 100 % |

In 25 tests the operator under test fell back to the CPU.

### Operators

Of 13 operators in the inventory:

| status | operators | share |
| --- | ---: | ---: |
| native | 6 | 46.2 % |
| partial | 1 | 7.7 % |
| fallback | 2 | 15.4 % |
| failing | 1 | 7.7 % |
| crashing | 1 | 7.7 % |
| skipped | 1 | 7.7 % |
| untested | 1 | 7.7 % |

### Modules

Of 7 modules in the inventory:

| status | modules | share |
| --- | ---: | ---: |
| native | 3 | 42.9 % |
| partial | 1 | 14.3 % |
| fallback | 1 | 14.3 % |
| failing | 1 | 14.3 % |
| crashing | 0 | 0 % |
| skipped | 0 | 0 % |
| untested | 1 | 14.3 % |

### Failures

26 tests with 9 signatures, the most frequent first.

<details><summary>8 tests of 2 operators and 1 module: 8 failed</summary>

```
AssertionError: Tensor-likes are not close!
Mismatched elements: 4 / 25 (47.0%)
Greatest absolute difference: 0.447 at index (0, 2) (up to 1e-05 allowed)
Greatest relative difference: 1.47 at index (0, 0) (up to 1.3e-06 allowed)
```

Sample: `2 of 8 passed; first failure: sample 2: Tensor[(5, 5), float32]`

First: `modules::TestModules::test_module_backward_nn_LayerNorm_bfloat16`

```sh
conformance run modules --device neuron --test modules::TestModules::test_module_backward_nn_LayerNorm_bfloat16
```

</details>

<details><summary>4 tests of 1 module: 4 failed</summary>

```
ValueError: <b>not bold</b> & "quotes" in 'nn.MultiheadAttention'\\x00 \\ud800 end
```

Sample: `2 of 8 passed; first failure: sample 2: Tensor[(5, 5), float32]`

First: `modules::TestModules::test_module_backward_nn_MultiheadAttention_bfloat16`

```sh
conformance run modules --device neuron --test modules::TestModules::test_module_backward_nn_MultiheadAttention_bfloat16
```

</details>

... and 7 more

### Lost

4 planned tests came back without a result (not run):

- `opinfo::TestOperators::test_backward_clamp_bfloat16`
- `opinfo::TestOperators::test_backward_clamp_float32`

... and 2 more

### Overloads that fell back to the CPU in the operator under test

| overload | tests | operators |
| --- | ---: | ---: |
| `aten::abs.out` | 9 | `abs` |
| `aten::mul.out` | 9 | `mul` |

... and 3 more

### Skips

12 tests for 4 reasons, by the skiplist or by the test itself:

| tests | by | reason |
| --- | --- | --- |
| 5 | test | `does not require grad` |
| 3 | test | `Skipped! bfloat16 is not supported on neuron` |

... and 2 more

### Templates

| template | planned | passed | failed | error | skipped | xfailed | xpassed | crashed | timed out | out of memory | flaky | not run | fell back |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| `test_out` | 36 | 26 | 6 | 0 | 2 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 7 |
| `test_backward` | 36 | 21 | 3 | 0 | 7 | 1 | 0 | 0 | 1 | 0 | 0 | 3 | 7 |
| (16 more) | 73 | 49 | 10 | 1 | 3 | 2 | 1 | 2 | 1 | 1 | 2 | 1 | 11 |

### Operator groups

| group | planned | passed | failed | error | skipped | xfailed | xpassed | crashed | timed out | out of memory | flaky | not run | fell back |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| `pointwise` | 99 | 68 | 12 | 0 | 10 | 3 | 0 | 1 | 1 | 1 | 0 | 3 | 21 |
| (none) | 37 | 20 | 7 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 2 | 1 | 4 |
| `other` | 9 | 8 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
""",
        )

    def test_shows_an_interrupted_run_as_such_first(self) -> None:
        path = build_sample(self.folder / "sample.sqlite", runs=3, operators=13)
        self.assertExpectedInline(
            render(path, run_id=3).partition("### Outcomes")[0],
            """\
## Run 3 on `neuron`: interrupted

Suites `opinfo`, `modules`, `local` on `emulated neuron` with torch `2.13.0` and `conformance emulator 0.1.0`.
Fallbacks were seen by: `observer`.

> [!WARNING]
> **Emulated**: a stand-in ran in place of the device; these results say nothing about the hardware.

> [!WARNING]
> **Incomplete**: the run is interrupted; 50 of 145 planned tests have no result.

> [!NOTE]
> **Selection**: only a part of the suites was asked for: `--ops '*'`

""",
        )

    def test_shows_a_run_without_tests_or_inventory_as_no_data(self) -> None:
        path = write_run(self.folder / "db", [], probe="")
        self.assertExpectedInline(
            render(path),
            """\
## Run 1 on `neuron`: complete

Suites `opinfo` on `Trainium2` with torch `2.13.0` and `torch-neuronx 2.13.3.1`.
Fallbacks were seen by: nobody.

> [!NOTE]
> **Unobserved**: no probe looked for CPU fallbacks; an operator shown as native may have used one.

### Outcomes

| outcome | tests | share |
| --- | ---: | ---: |
| **planned** | **0** | no data |

Tests in which the operator under test fell back to the CPU: no data.

### Operators

No data.

### Failures

No data.

### Overloads that fell back to the CPU in the operator under test

No data.

### Templates

No data.

### Operator groups

No data.
""",
        )

    def test_tells_a_narrow_run_by_dtype_and_where_a_process_died(self) -> None:
        seen = FallbackAccount((), ("aten::x",))
        stack = 'Current thread 0x01 (most recent call first):\n  File "/x/test_x.py", line 3 in deep\n'
        results = [
            Result(id_of("test_a"), Outcome.PASSED, fallback=FallbackAccount()),
            Result(id_of("test_a_float64"), Outcome.CRASHED, message="died", signature="aten::a", details=stack),
            Result("test_mine.py::test_a", Outcome.PASSED, fallback=seen),
        ]
        path = write_run(self.folder / "db", results, inventory=["a", "b"])
        self.assertExpectedInline(
            render(path).partition("### Outcomes")[2].partition("### Templates")[0],
            """\


| outcome | tests | share |
| --- | ---: | ---: |
| passed | 2 | 66.7 % |
| crashed | 1 | 33.3 % |
| **planned** | **3** | 100 % |

In 0 tests the operator under test fell back to the CPU.
In 1 test without an operator under test something ran on the CPU.

### Status by dtype

Of 1 operator (inventory: 2 operators):

| name | status | dtypes |
| --- | --- | --- |
| `a` | crashing | native: `float32`; crashing: `float64` |

### Failures

1 test with 1 signature, the most frequent first.

<details><summary>1 test of 1 operator: 1 crashed</summary>

```
died
```

Cause: `aten::a`

Stack:

```
/x/test_x.py:3 in deep
```

First: `opinfo::TestX::test_a_float64`

```sh
conformance run opinfo --device neuron --test opinfo::TestX::test_a_float64
```

</details>

### Overloads that fell back to the CPU in the operator under test

None seen.

### Overloads that ran on the CPU in tests without an operator under test

| overload | tests |
| --- | ---: |
| `aten::x` | 1 |

""",
        )

    def test_says_nothing_of_fallbacks_of_the_cpu(self) -> None:
        path = write_run(self.folder / "db", [Result(id_of("test_a"), Outcome.PASSED)], probe="none", device="cpu")
        assert "allback" not in render(path)
        assert "fell back" not in render(path)

    def test_lets_no_text_of_a_run_act_as_markup(self) -> None:
        """Render it as CommonMark with tables, and look for markup that is not the report's own."""
        odd = "<script>x</script>|`a`|``b``|**c**|[d](e)|<img src=x>|@f|&amp;|\\"
        messy = write_run(
            self.folder / "db",
            [
                Result(
                    id_of(f"test_{odd}"),
                    Outcome.FAILED,
                    message=f"```\n</details>{odd}",
                    signature=odd,
                    fallback=FallbackAccount((odd.replace(",", ""),), (odd.replace(",", ""),)),
                )
            ],
            planned=[f"test_lost_{odd}"],
            probe=odd,
        )
        sample = build_sample(self.folder / "sample.sqlite", runs=3, operators=60)
        for text in (render(messy), *(render(sample, run_id) for run_id in (1, 2, 3))):
            html = MarkdownIt("commonmark").enable("table").render(text)
            assert set(re.findall(r"<([a-z0-9]+)", html)) <= OWN_TAGS
            assert "<strong>c" not in html
            for block in text.split("\n\n"):
                bars = {line.count("|") for line in block.splitlines() if line.startswith("| ")}
                assert len(bars) <= 1
        rendered = MarkdownIt("commonmark").enable("table").render(render(messy))
        shown = odd.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert f"<code>{shown}</code>" in rendered

    def test_is_the_same_every_time(self) -> None:
        one = build_sample(self.folder / "one.sqlite", operators=30)
        two = build_sample(self.folder / "two.sqlite", operators=30)
        assert render(one) == render(one) == render(two)
