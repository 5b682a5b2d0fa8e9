from __future__ import annotations

import pytest

from conformance.publish.names import breakable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("add", "add"),
        ("aten::_linalg_eigh.out", "aten::<wbr>_<wbr>linalg_<wbr>eigh.<wbr>out"),
        ("a --workers 2", 'a <span class="keep">--workers</span> 2'),
        ("<b>_&", "&lt;b&gt;_<wbr>&amp;"),
        ("x" * 8 + "-" + "y" * 40, "x" * 8 + "-" + "y" * 40),
        ("__radd__", "__<wbr>radd__"),
        ("", ""),
    ],
)
def test_a_name_breaks_between_its_parts_only(text: str, shown: str) -> None:
    assert str(breakable(text)) == shown
