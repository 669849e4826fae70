"""Holds a run's result.json against SciPy's figures from its exported rows.

    wirelap report RUN --csv > rows.csv
    python3 check_rows.py rows.csv RUN/result.json

Medians of each cell, and for each pair of contenders the Hodges-Lehmann ratio and Wilcoxon's exact p-value. Prints
what differs; the exit code is 1 where anything does.
"""

import csv
import json
import math
import sys
from collections import defaultdict
from itertools import combinations_with_replacement

import numpy
from scipy.stats import wilcoxon


def rows_that_count(path):
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["counts"] == "true" and row["outcome"] == "measured":
                yield row


def main(rows_file, result_file):
    with open(result_file, encoding="utf-8") as file:
        result = json.load(file)
    metric = {(v["workload"], v["link"]): v["metric"] for v in result["verdicts"]}
    cells = defaultdict(dict)
    for row in rows_that_count(rows_file):
        place = row["workload"], row["link"]
        cells[*place, row["contender"]][int(row["block"])] = float(row[metric[place]])
    checked, wrong = 0, []

    def same(what, ours, theirs):
        nonlocal checked
        checked += 1
        if not math.isclose(ours, theirs, rel_tol=1e-9):
            wrong.append(f"{what}: {ours} here, {theirs} by SciPy")

    for cell in result["cells"]:
        place = cell["workload"]["name"], cell["link"]["name"]
        values = cells[*place, cell["contender"]["name"]].values()
        same(f"median of {place}", cell["metrics"][metric[place]]["median"], numpy.median(list(values)))
    for verdicts in result["verdicts"]:
        place = verdicts["workload"], verdicts["link"]
        for pair in verdicts["pairs"]:
            a, b = (cells[*place, pair[name]] for name in "ab")
            logs = [math.log(a[block] / b[block]) for block in sorted(a.keys() & b.keys())]
            averages = [(x + y) / 2 for x, y in combinations_with_replacement(logs, 2)]
            what = f"{pair['a']} over {pair['b']} on {place}"
            same(f"ratio of {what}", pair["ratio"], math.exp(numpy.median(averages)))
            same(f"p of {what}", pair["p"], wilcoxon(logs, method="exact").pvalue)
    print(f"{checked} figures, {len(wrong)} differ", *wrong, sep="\n")
    return bool(wrong) or checked == 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
