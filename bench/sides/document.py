"""Generated text in a document, between two markers: `<!-- NAME begins -->` and `<!-- NAME ends -->`."""


def read(path, name):
    """What stands between the markers."""
    return parts(path, name)[1]


def replace(path, name, text):
    """Puts `text` in place of what stands between the markers."""
    before, _, after = parts(path, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + text + after)


def parts(path, name):
    """The document up to the text, the text, and the document from there; the markers are no part of the text."""
    begin, end = f"<!-- {name} begins -->\n", f"<!-- {name} ends -->\n"
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    before, found, rest = whole.partition(begin)
    text, also_found, after = rest.partition(end)
    if not found or not also_found:
        raise ValueError(f"{path} has no markers for {name}")
    return before + begin, text, end + after
