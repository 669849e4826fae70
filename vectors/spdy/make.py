#!/usr/bin/env python3
"""Writes header blocks made by zlib itself, with the dictionary read from the codec's source, beside
those that were taken from real programs (captured.json). Usage: make.py > blocks.json"""
import json, pathlib, re, struct, zlib

here = pathlib.Path(__file__).parent
source = (here / "../../crates/wire/src/spdy/dictionary.rs").read_text()
literal = re.search(r'= b"\\\n(.*?)";', source, re.S).group(1)
joined = re.sub(r"\\\n\s*", "", literal).lstrip()
dictionary = re.sub(r"\\x(..)|\\0", lambda m: chr(int(m[1], 16)) if m[1] else "\0", joined).encode("latin-1")
assert zlib.adler32(dictionary) == 0xE3C6A7C2


def block(fields):
    plain = struct.pack(">I", len(fields))
    for text in (text for pair in fields for text in pair):
        plain += struct.pack(">I", len(text)) + text.encode()
    return plain


def session(source, level, bits, lists):
    deflate = zlib.compressobj(level, zlib.DEFLATED, bits, 8, zlib.Z_DEFAULT_STRATEGY, dictionary)
    blocks = []
    for fields in lists:
        bytes = deflate.compress(block(fields)) + deflate.flush(zlib.Z_SYNC_FLUSH)
        split = [(name, part) for name, value in fields for part in value.split("\0")]
        blocks.append({"hex": bytes.hex(), "fields": split})
    return {"source": source, "blocks": blocks}


browser = [
    (":host", "www.example.test"), (":method", "GET"), (":path", "/"), (":scheme", "https"),
    (":version", "HTTP/1.1"), ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("accept-encoding", "gzip,deflate,sdch"), ("accept-language", "en-US,en;q=0.8"),
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/32.0.1700.77 Safari/537.36"),
]
requests = [browser] + [
    [(n, f"/images/{i}.png" if n == ":path" else v) for n, v in browser] for i in range(20)
]
answer = [
    (":status", "200 OK"), (":version", "HTTP/1.1"), ("content-length", "1453"),
    ("content-type", "image/png"), ("date", "Mon, 13 Jan 2014 10:00:00 GMT"), ("server", "Apache"),
    ("set-cookie", "a=1; path=/\0b=2; secure"), ("x-empty", ""),
]
zlib_of = f"zlib {zlib.ZLIB_VERSION}"
sessions = [
    session(f"{zlib_of}, level 9, window 11, requests", 9, 11, requests),
    session(f"{zlib_of}, level 6, window 15, answers", 6, 15, [answer] * 3),
    session(f"{zlib_of}, level 0, window 11, answers", 0, 11, [answer] * 2),
]
captured = here / "captured.json"
if captured.exists():
    sessions += json.loads(captured.read_text())
print(json.dumps(sessions, indent=1))
