"""What was measured, as Markdown and as JSON."""

import datetime
import os
import re

from . import place, rows


def judge(row, measured):
    """Each demand with what was measured: the median of paired ratios against the best of the others that are there."""
    judged = []
    for demand in row.demands:
        if isinstance(demand, rows.Truth):
            told = place.median([one[demand.key] for one in measured])
            judged.append({"key": demand.key, "asked": demand.within, "against": "the truth" if measured else None,
                           "measured": told, "met": abs(told - 1) <= demand.within})
            continue
        there = [other for other in demand.others if any(one["client"] == other for one in measured)]
        ratios = {other: place.paired(measured, demand.key, own(row), other) for other in there}
        best = min(ratios, key=ratios.get) if ratios else None
        judged.append({"key": demand.key, "asked": demand.factor, "against": best,
                       "measured": ratios.get(best), "met": bool(best) and ratios[best] >= demand.factor})
    return judged


def own(row):
    return next(iter(row.contenders))


def bound(middle):
    """Which side has the less idle core."""
    server, client = (middle[key] / middle["wall_s"] for key in ("server_cpu_s", "client_cpu_s"))
    return "server-bound" if server >= client else "client-bound"


def middles(row, measured):
    """Contender to the medians of its rounds."""
    found = {}
    for name in row.contenders:
        mine = [one for one in measured if one["client"] == name]
        if mine:
            keys = ("per_s", "per_cpu_s", "server_cpu_s", "client_cpu_s", "wall_s", "requests")
            found[name] = {key: place.median([one[key] for one in mine]) for key in keys}
    return found


def others(row, measured):
    """Contender to the median of paired ratios of ours to it, for all that are there."""
    there = sorted({one["client"] for one in measured} - {own(row)})
    return {name: place.paired(measured, "per_cpu_s", own(row), name) for name in there}


GOALS = {"per_cpu_s": "{:.3g} x {}", "per_s": "{:.3g} x {}, requests/s"}


def goals(row):
    """Each demand in words, in the order of what was judged."""
    return [f"within {demand.within:.0%}" if isinstance(demand, rows.Truth)
            else GOALS[demand.key].format(demand.factor, "the best" if len(demand.others) > 1 else demand.others[0])
            for demand in row.demands]


def document(every, results, idle, versions, took, commit):
    """The whole of it as one table for a document: a line for each row, its demands one after another."""
    numbers = {name: re.search(r"\d+(\.\d+)+", version or "") for name, version in versions.items()}
    said = ", ".join(f"{name} {found[0]}" for name, found in numbers.items() if found and name != "wirelap")
    lines = [f"Made by `bench/run --write --rounds {took['rounds']} --seconds {took['seconds']}` on {datetime.date.today()} of commit {commit}, "
             f"{took['minutes']:.0f} minutes. {said}.", "",
             "| row | work | goal | measured | met | ours of each other's |", "|---|---|---|---|---|---|"]
    found = {row.name: row for row in every}
    for result in results:
        row, judged = found[result["name"]], result["judged"]
        told = [f"{one['measured']:.4f}" if one["key"] == "told_of_true" else f"{one['measured']:.2f} ({one['against']})"
                if one["against"] else "nobody is there" for one in judged]
        met = ["yes" if one["met"] else "**no**" if one["against"] else "" for one in judged]
        ratios = [f"{name} {ratio:.2f}" for name, ratio in others(row, result["rounds"]).items()]
        ratios += [f"{name} missing" for name in result["missing"]]
        lines.append(f"| `{row.name}` | {row.work} | {'; '.join(goals(row))} | {'; '.join(told)} | {'; '.join(met)} | {', '.join(ratios)} |")
    for one in idle:
        told = one["missing"] or f"{one['bytes'] / 1000:.1f} kB"
        met = "" if one["missing"] else "yes" if one["bytes"] <= one["asked"] else "**no**"
        lines.append(f"| `{one['name']}` | {one['count']} {one['what']} | {one['asked'] / 1000:.0f} kB each | {told} | {met} | |")
    return "\n".join(lines) + "\n"


def markdown(results, versions, idle, took):
    lines = ["# The origin and the load engine side by side", ""]
    lines += [f"- {name}: {version or 'not there'}" for name, version in versions.items()]
    lines += [f"- load average {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} cores, one a side",
              f"- medians of {took['rounds']} rounds of {took['seconds']} s; all of it took {took['minutes']:.0f} minutes", ""]
    lines += ["| work | asked | measured | |", "|---|---|---|---|"]
    for result in results:
        for one in result["judged"]:
            what = "requests/s" if one["key"] == "per_s" else "per CPU second"
            met = "met" if one["met"] else "missed"
            if one["key"] == "told_of_true":
                off = f"{one['measured']:.4f} of it" if one["against"] else "nothing was measured"
                lines.append(f"| {result['work']} | within {one['asked']:.0%} of the truth | {off} | {met} |")
                continue
            if one["against"] is None:
                lines.append(f"| {result['work']} | {one['asked']} x {what} | no peer is there | |")
            else:
                lines.append(f"| {result['work']} | {one['asked']} x {what} | {one['measured']:.2f} x {one['against']} "
                             f"| {met} |")
    for one in idle:
        asked = f"| {one['count']} {one['what']} | {one['asked'] / 1000:.0f} kB each at most "
        if one["missing"]:
            lines.append(f"{asked}| | {one['missing']} |")
        else:
            lines.append(f"{asked}| {one['bytes'] / 1000:.1f} kB | {'met' if one['bytes'] <= one['asked'] else 'missed'} |")
    for result in results:
        lines += ["", f"## {result['name']}: {result['work']}", "",
                  "| contender | requests/s | server µs CPU a request | client µs CPU a request | |", "|---|---|---|---|---|"]
        for name, middle in result["middles"].items():
            micros = [1e6 * middle[key] / middle["requests"] for key in ("server_cpu_s", "client_cpu_s")]
            lines.append(f"| {name} | {middle['per_s']:.0f} | {micros[0]:.2f} | {micros[1]:.2f} | {bound(middle)} |")
        lines += [f"| {name} | missing: {why} | | | |" for name, why in result["missing"].items()]
    return "\n".join(lines) + "\n"
