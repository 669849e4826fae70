"""Generated text in a document, between two markers: `<!-- NAME begins -->` and `<!-- NAME ends -->`."""


def replace(path, name, text):
    """Puts `text` in place of what stands between the markers."""
    begin, end = f"<!-- {name} begins -->\n", f"<!-- {name} ends -->\n"
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    before, found, rest = whole.partition(begin)
    _, also_found, after = rest.partition(end)
    if not found or not also_found:
        raise ValueError(f"{path} has no markers for {name}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + text + end + after)
