"""The table of bench/interop: its text, and what a text says."""

import re
from dataclasses import dataclass

from . import quic_cases

DASH, FAILS = "–", "**fails**"
WORDS = {DASH: "unsupported", FAILS: "fails"}
REASONS, RUNS, CASES = "A dash is a case that a side cannot do:", "The runs:", "What each case is:"


@dataclass
class Column:
    """What a run has found of a pair: of each case its word and why."""
    cells: dict
    run: str


def markdown(columns):
    """The table of these columns by their pairs, and beneath it every reason and every run once."""
    reasons, runs = [], []

    def number(known, one):
        if one not in known:
            known.append(one)
        return known.index(one) + 1

    def cell(word, why):
        return "holds" if word == "holds" else f"{FAILS if word == 'fails' else DASH} {number(reasons, why)}"

    lines = [row(["case", *(" → ".join(pair) for pair in columns)]), "|---|" + "---|" * len(columns)]
    for name in quic_cases.CASES:
        lines.append(row([name, *(cell(*column.cells[name]) for column in columns.values())]))
    lines.append(row(["run", *(str(number(runs, column.run)) for column in columns.values())]))
    words = [word for column in columns.values() for word, _ in column.cells.values()]
    lines += ["", f"{words.count('holds')} of {len(words)} cells hold.", "", RUNS, "", *numbered(runs), "", REASONS, "", *numbered(reasons),
              "", CASES, ""]
    lines += [f"- {name}: {case.__doc__}" for name, case in quic_cases.CASES.items()]
    return "\n".join(lines) + "\n"


def read(text):
    """The columns that `markdown` has put into this text, by their pairs."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    (_, *pairs), *cases, (_, *run_numbers) = rows
    reasons, runs = items(text, REASONS), items(text, RUNS)
    columns = {}
    for place, pair in enumerate(pairs):
        cells = {}
        for name, *row_cells in cases:
            word, _, why = row_cells[place].partition(" ")
            cells[name] = ("holds", "") if word == "holds" else (WORDS[word], reasons[int(why) - 1])
        columns[tuple(pair.split(" → "))] = Column(cells, runs[int(run_numbers[place]) - 1])
    return columns


def row(cells):
    return "| " + " | ".join(cells) + " |"


def numbered(texts):
    return [f"{number}. {text}" for number, text in enumerate(texts, 1)]


def items(text, heading):
    """The numbered lines below a heading."""
    below = text.partition(f"{heading}\n\n")[2].partition("\n\n")[0]
    return re.findall(r"^\d+\. (.*)$", below, re.MULTILINE)
