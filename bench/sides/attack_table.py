"""The table of attacks in docs/security.md: a line for each row, with the run that measured it. `--only` replaces the lines of its own
rows; the others stay as they are. All is read from the text that it is written to."""

import re

NAMES = {"wirelap": "wirelap", "nginx": "nginx", "h2o": "H2O"}


class Cell:
    """What one server took in one row, in the digits of the table."""

    FORM = re.compile(r"([\d.]+) MB, ([\d.]+) ms, ([\d.]+) s(?:, ([\d.]+) x)?( \*)?$")

    def __init__(self, text):
        self.text = text
        megabytes, p99, cpu, ratio, going_on = self.FORM.match(text).groups()
        self.measures = {"memory": float(megabytes), "p99": float(p99), "cpu": float(cpu)}
        self.is_whole = not going_on

    @classmethod
    def of(cls, one):
        """From what was measured."""
        ratio = "" if one.get("ratio") is None else f", {one['ratio']:.2f} x"
        return cls(f"{one['bytes'] / 1e6:.1f} MB, {1e3 * one['p99_s']:.1f} ms, {one['cpu_s']:.2f} s{ratio}{'' if one['finished'] else ' *'}")


class Line:
    """One row of the table."""

    def __init__(self, attack, route, cells, red, run):
        self.attack, self.route, self.cells, self.red, self.run = attack, route, cells, red, run

    def markdown(self, number):
        cells = [self.cells[name].text if name in self.cells else "-" for name in NAMES]
        return f"| {self.attack} | `{self.route}` | {' | '.join(cells)} | {f'**{self.red}**' if self.red else ''} | {number} |"


def shown(line):
    return f"{line.attack} `{line.route}`"


def read(text):
    """The lines of what was written before; a line's run is the text that tells of it."""
    runs, lines = {}, []
    for one in text.splitlines():
        if found := re.match(r"(\d+)\. (.*)", one):
            runs[found[1]] = found[2]
    for one in text.splitlines():
        words = [word.strip() for word in one.strip("|").split("|")]
        if one.startswith("| ") and len(words) == 7 and words[0] != "attack":
            cells = {name: Cell(word) for name, word in zip(NAMES, words[2:5]) if word != "-"}
            lines.append(Line(words[0], words[1].strip("`"), cells, words[5].strip("*"), runs[words[6]]))
    return lines


def merged(before, now, order):
    """The lines of now in place of those before, in the order of the rows' names, which are attack and route; what is no row goes."""
    found = {(line.attack, line.route): line for line in [*before, *now]}
    return [found[name] for name in order if name in found]


def markdown(lines, told):
    """The table and what stands below it; `told` says of each attack what it does."""
    runs = list(dict.fromkeys(sorted((line.run for line in lines))))
    text = ["| attack | route | wirelap | nginx | H2O | red | run |", "|---|---|---|---|---|---|---|"]
    text += [line.markdown(1 + runs.index(line.run)) for line in lines]
    text += ["", f"{len(lines)} rows, {sum(bool(line.red) for line in lines)} red. Each cell: peak memory above what it held before, the "
             "honest client's p99, CPU seconds of the server and, where it is limited, bytes that the server sent for each that it got. A "
             "star: the attack was still going on when the time was over. The runs:", ""]
    text += [f"{number}. {run}" for number, run in enumerate(runs, 1)]
    text += ["", "What each attack does:", ""]
    text += [f"- {attack}: {does}" for attack, does in told.items() if any(line.attack == attack for line in lines)]
    text += ["", "What wirelap takes more of than the better peer, red or not. " + above(lines)]
    return "\n".join(text) + "\n"


def above(lines):
    """What wirelap takes more of than the better peer does, in the digits of the table: a sentence for each measure."""
    with_peers = [line for line in lines if len(line.cells) > 1]
    sentences = []
    for measure, key, digits, unit in (("Its memory", "memory", 1, "MB"), ("The honest client's p99", "p99", 1, "ms"),
                                       ("Its CPU time", "cpu", 2, "s")):
        more = []
        for line in with_peers:
            taken = {name: cell.measures[key] for name, cell in line.cells.items()}
            own, better = taken.pop("wirelap"), min(taken.values())
            if own > better:
                more.append((round(own - better, digits), line))
        most = max(more, key=lambda one: one[0], default=None)
        said = f"{measure} is above the better peer's in {len(more)} of {len(with_peers)} rows"
        if most:
            said += f", by {most[0]:.{digits}f} {unit} at most ({shown(most[1])})"
        if key == "memory" and more:
            said += ": " + ", ".join(f"{shown(line)} {by:.{digits}f}" for by, line in more)
        sentences.append(said + ".")
    return " ".join(sentences)
