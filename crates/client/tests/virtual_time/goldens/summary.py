#!/usr/bin/env python3
"""Turns a delivery log of `wirelap serve` into a golden: what a browser said of each stream, in the order of the streams.

usage: summary.py BROWSER COMMAND < delivery.jsonl
"""
import json
import sys

rows = sorted((json.loads(line) for line in sys.stdin), key=lambda r: (r["connection"], r["stream"]))
name = {(r["connection"], r["stream"]): r["path"].split("?")[0] for r in rows}
print(f"# {sys.argv[1]}")
print(f"# {sys.argv[2]} | crates/client/tests/virtual_time/goldens/summary.py")
for row in rows:
    path = row["path"].split("?")[0]
    if path == "/favicon.ico":
        continue
    said = []
    for asked in row["asked"]:
        by = asked["by"]
        if "weight" in asked:
            parent = asked["parent"]
            parent = name.get((row["connection"], parent), str(parent)) if parent else "root"
            kind = "exclusive" if asked["exclusive"] else "shared"
            # A raise right behind the request, or one that follows the arrival of something else.
            soon = asked["at"] - row["requested"] < 100_000_000
            when = "" if by == "HEADERS" else " at once" if soon else " later"
            said.append(f"{by}{when} {parent} {asked['weight']} {kind}")
        else:
            said.append(f"{by} u={asked['urgency']}" + (", i" if asked["incremental"] else ""))
    print("; ".join([path] + sorted(said)))
