"""The qlog files of a client and of its server (draft-ietf-quic-qlog), held against each other packet for packet."""

import glob
import json
import os
import time

# A server may write when it has forgotten the connection.
PATIENCE_S = 20
# Of the packets that were sent last an end that is over may not tell.
AFTER_THE_END = 6


def events(path):
    """The events of a file: JSON text sequences (RFC 7464), or aioquic's one JSON document. None where it is not whole yet."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        if text.startswith("\x1e"):
            return [json.loads(record) for record in text.split("\x1e")[2:]]
        return [event for trace in json.loads(text)["traces"] for event in trace["events"]]
    except ValueError:
        return None


def packets(found, way):
    """Of the packets sent or received: their lengths, by type and number."""
    told = {}
    for event in found:
        if event["name"].split(":")[-1] == f"packet_{way}":
            header, raw = event["data"]["header"], event["data"].get("raw", {})
            if "packet_number" in header:
                told[header["packet_type"], header["packet_number"]] = raw.get("length")
    return told


def longest(paths):
    """The events of the longest connection among these files. A client may have begun a second one that it did not need."""
    return max((events(path) or [] for path in paths), key=len, default=[])


def read(folder, own):
    """The events of our side and of the other program's, once both have told of the end; `own` is our part."""
    until = time.monotonic() + PATIENCE_S
    while True:
        files = glob.glob(os.path.join(folder, "*.*qlog"))
        mine = [path for path in files if f"-{own}-" in os.path.basename(path)]
        both = longest(mine), longest(set(files) - set(mine))
        if all(packets(side, "sent") for side in both) or time.monotonic() > until:
            return both
        time.sleep(0.1)


def disagreement(one, other):
    """Where two sides' tales of the same packets differ, in words; None where they do not."""
    for sender, receiver, name in ((one, other, "ours to theirs"), (other, one, "theirs to ours")):
        sent, received = packets(sender, "sent"), packets(receiver, "received")
        for number, length in received.items():
            if number not in sent:
                return f"{name}: {number} was received and never sent"
            if sent[number] != length:
                return f"{name}: {number} was sent with {sent[number]} bytes and received with {length}"
        if not received:
            return f"{name}: no packet was received"
    return None


def unseen(one, other):
    """How many packets were sent of which the other side does not tell."""
    ways = ((one, other), (other, one))
    return sum(len(packets(sender, "sent").keys() - packets(receiver, "received").keys()) for sender, receiver in ways)
