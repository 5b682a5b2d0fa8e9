from __future__ import annotations

from expecttest import TestCase

from conformance.report.layout import cut, escaped, listing, printable, table, width_of, wrap


class TestTable(TestCase):
    def test_aligns_names_left_and_numbers_right(self) -> None:
        lines = table(
            ("template", "planned", "timed\nout"), [("test_out", "1,200", "3"), ("test_compare_cpu", "7", "12")]
        )
        self.assertExpectedInline(
            "\n".join(lines),
            """\
                             timed
  template          planned    out
  --------------------------------
  test_out            1,200      3
  test_compare_cpu        7     12""",
        )

    def test_gives_a_long_name_a_line_of_its_own(self) -> None:
        lines = table(
            ("operator", "tests", "share"), [("x" * 60, "1", "3 %"), ("add", "20", "97 %")], columns=50, indent=4
        )
        self.assertExpectedInline(
            "\n".join(lines),
            """\
    operator                          tests  share
    ----------------------------------------------
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
                                          1    3 %
    add                                  20   97 %""",
        )

    def test_stays_within_its_columns_with_many_numbers(self) -> None:
        heads = ("template", "planned", *(f"heading\n{index}" for index in range(10)))
        for columns in (60, 80, 100):
            numbers = 12 if columns == 100 else 5
            lines = table(heads[:numbers], [("test_" + "y" * 200, *["150,000"] * (numbers - 1))] * 2, columns=columns)
            assert max(map(len, lines)) <= columns

    def test_counts_what_a_wide_character_takes(self) -> None:
        lines = table(("op", "tests"), [("\u6f22\u5b57", "1"), ("abc", "2")])
        assert {width_of(line) for line in lines[1:]} == {width_of(lines[0])}

    def test_prints_no_control_characters(self) -> None:
        assert "\x1b" not in "".join(table(("op", "tests"), [("a\x1b[31m\nb", "1")]))


class TestListing(TestCase):
    def test_wraps_the_last_column_beside_the_others(self) -> None:
        rows = [("add", "native", "native: float32"), ("mul\x1b", "partial", "native: bool, int8; failing: float32")]
        self.assertExpectedInline(
            "\n".join(listing(("name", "status", "dtypes"), rows, columns=40)),
            """\
  name     status   dtypes
  -------------------------------------
  add      native   native: float32
  mul\\x1b  partial  native: bool, int8;
                    failing: float32""",
        )

    def test_gives_a_long_name_a_line_of_its_own(self) -> None:
        rows = [("x" * 60, "native", "float32"), ("add", "native", "")]
        self.assertExpectedInline(
            "\n".join(listing(("name", "status", "dtypes"), rows, columns=40)),
            """\
  name  status  dtypes
  ---------------------
  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
        native  float32
  add   native""",
        )


def test_escaping_keeps_what_can_be_read_and_shows_what_cannot() -> None:
    assert escaped("caf\u00e9 \u6f22  x") == "caf\u00e9 \u6f22  x"
    assert escaped("a\x1b[2J\u202eb\udc80") == "a\\x1b[2J\\u202eb\\udc80"
    assert printable(" a\n\tb  c\r\n") == "a b c"


def test_width_counts_terminal_columns() -> None:
    assert [width_of(text) for text in ("", "abc", "\u6f22\u5b57", "e\u0301")] == [0, 3, 4, 1]


def test_cut_never_exceeds_and_says_that_it_cut() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."
    assert cut("\u6f22\u5b57\u6f22\u5b57", 6) == "\u6f22..."
    for columns in range(5):
        assert width_of(cut("\u6f22bcdefgh", columns)) <= columns


def test_cut_ends_with_a_word_unless_that_costs_half_of_the_text() -> None:
    assert cut("one two three four", 12) == "one two..."
    assert cut("one two three four", 16) == "one two three..."
    assert cut("a bcdefghijklmnop", 12) == "a bcdefgh..."


def test_wrap_breaks_between_words_and_inside_only_where_it_must() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("x" * 10 + " y", 4) == ["xxxx", "xxxx", "xx y"]
    assert wrap("a " + "\u6f22" * 5, 5) == ["a", "\u6f22\u6f22", "\u6f22\u6f22", "\u6f22"]
    assert wrap("\u6f22\u5b57", 1) == ["\u6f22", "\u5b57"]
    assert wrap("", 8) == []
