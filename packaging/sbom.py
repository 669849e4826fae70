"""Prints an SBOM of the program: CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), from Cargo's own records."""

import json
import subprocess

TARGET = "x86_64-unknown-linux-musl"


def main():
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {node["id"]: linked(node) for node in metadata["resolve"]["nodes"]}
    root = next(id for id, package in packages.items() if package["name"] == "lab")
    reached, waiting = set(), [root]
    while waiting:
        id = waiting.pop()
        if id not in reached:
            reached.add(id)
            waiting.extend(edges[id])
    named = {id: reference(packages[id]) for id in reached}
    print(json.dumps({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(packages[root], "application")},
        "components": [component(packages[id], "library") for id in sorted(reached - {root}, key=named.get)],
        "dependencies": [
            {"ref": named[id], "dependsOn": sorted(named[other] for other in edges[id])}
            for id in sorted(reached, key=named.get)
        ],
    }, indent=1))


def linked(node):
    """What is linked into the program: neither tests nor what only builds it."""
    return [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind):
    found = {"type": kind, "bom-ref": reference(package), "name": package["name"], "version": package["version"]}
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["source"]:
        found["purl"] = reference(package)
    return found


main()
