"""Tables as data, for HTML and Markdown alike."""

import dataclasses
import re

_LONG = 40  # characters that a phone does not show in a line
_NUMBER = re.compile(r"[-+]?[\d,.]+(e[-+]?\d+)?")


@dataclasses.dataclass(frozen=True)
class Cell:
    """Text of a cell.

    Attributes:
        text: str, empty where there is nothing.
        note: str, small print below it.
        is_code: bool. A path or a setting.
    """

    text: str
    note: str = ""
    is_code: bool = False

    def note_lines(self):
        """Return the small print in parts that stay on a line."""
        return self.note.split("; ") if self.note else []

    @property
    def is_long(self):
        """Whether the text is a sentence, which needs some width."""
        return not self.is_code and len(self.text) > _LONG

    @property
    def is_number(self):
        """Whether the text is a number, set to the right."""
        return _NUMBER.fullmatch(self.text) is not None


@dataclasses.dataclass(frozen=True)
class Table:
    """A table with its caption.

    Attributes:
        title: str.
        header: list of str.
        rows: list of lists of `Cell` or str, as long as the header.
        notes: list of str, sentences below it.
    """

    title: str
    header: list
    rows: list
    notes: list = dataclasses.field(default_factory=list)

    def cells(self):
        """Return the rows with a `Cell` everywhere."""
        return [
            [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
            for row in self.rows
        ]

    def number_columns(self):
        """Return the indices of the columns of numbers, set to the right."""
        columns = list(zip(*self.cells()))
        return {
            i
            for i, column in enumerate(columns)
            if any(cell.is_number for cell in column)
            and all(cell.is_number or not cell.text for cell in column)
        }


def markdown(table):
    """Return a `Table` in Markdown, its title in bold, ending in a newline."""
    cells = [[_markdown(cell) for cell in row] for row in table.cells()]
    lines = [
        f"| {' | '.join(map(_escape, table.header))} |",
        "|" + "---|" * len(table.header),
        *(f"| {' | '.join(row)} |" for row in cells),
    ]
    parts = [f"**{table.title}**", "\n".join(lines), *table.notes]
    return "\n\n".join(parts) + "\n"


def _markdown(cell):
    text = _escape(cell.text)
    if cell.is_code and text:
        text = f"`{text}`"
    return f"{text} ({_escape(cell.note)})" if cell.note else text


def _escape(text):
    return text.replace("|", "\\|").replace("\n", " ")
