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
    """Of the packets sent or received, by type and number: their lengths, and the types of their frames in their order. PADDING is
    left out: not everybody tells of it."""
    told = {}
    for event in found:
        if event["name"].split(":")[-1] == f"packet_{way}":
            header, raw = event["data"]["header"], event["data"].get("raw", {})
            if "packet_number" in header:
                frames = [frame["frame_type"] for frame in event["data"].get("frames", [])]
                frames = [frame for frame in frames if frame != "padding"]
                told[header["packet_type"], header["packet_number"]] = raw.get("length"), frames
    return told


def in_datagrams(found):
    """As `packets` of those received, with the lengths of their datagrams up to their ends. Packets of one datagram have one time."""
    told, time_ms, before = {}, None, 0
    for event in found:
        for number, (length, frames) in packets([event], "received").items():
            before = length + (before if event["time"] == time_ms else 0)
            time_ms = event["time"]
            told[number] = before, frames
    return told


def longest(paths):
    """The events of the longest connection among these files. A client may have begun a second one that it did not need."""
    return max((events(path) or [] for path in paths), key=len, default=[])


def read(folder, own):
    """The events of our side, which `own` names, and of the other program's, once both have told all."""
    until, before = time.monotonic() + PATIENCE_S, None
    while True:
        files = glob.glob(os.path.join(folder, "*.*qlog"))
        mine = [path for path in files if f"-{own}-" in os.path.basename(path)]
        both = longest(mine), longest(set(files) - set(mine))
        # Ours tells of its end; others may tell nothing of it.
        is_over = any(event["name"].endswith("connection_closed") for event in both[0])
        lengths = [len(side) for side in both]
        if is_over and all(lengths) and lengths == before or time.monotonic() > until:
            return both
        before = lengths
        time.sleep(0.3)


def disagreement(one, other, counts_datagrams):
    """Where two sides' tales of the same packets differ, in words; None where they do not. `counts_datagrams`: to the other side a
    packet's length is that of its datagram up to its end."""
    for sender, receiver, name in ((one, other, "ours to theirs"), (other, one, "theirs to ours")):
        sent, received = packets(sender, "sent"), packets(receiver, "received")
        counted = in_datagrams(receiver) if counts_datagrams and sender is other else {}
        for number, packet in received.items():
            if sent.get(number) not in (packet, counted.get(number, packet)):
                return f"{name}: {number} was received as {packet} and sent as {sent.get(number)}"
        if not received:
            return f"{name}: no packet was received"
    return None


def overflowed():
    """Datagrams that a socket had no space for, in this network namespace so far: the kernel drops them (udp(7)), and no end
    tells of it. Those of other programs count too."""
    with open("/proc/net/snmp", encoding="utf-8") as file:
        names, values = (line.split() for line in file if line.startswith("Udp:"))
    return int(dict(zip(names, values))["RcvbufErrors"])


def dropped(found):
    """How many datagrams an end says to have dropped because too many waited. quic-go does so where 256 of a connection wait."""
    return sum(event["data"].get("details", {}).get("reason") == "dos_prevention" for event in found)


def unseen(one, other):
    """How many packets were sent of which the other side does not tell."""
    ways = ((one, other), (other, one))
    return sum(len(packets(sender, "sent").keys() - packets(receiver, "received").keys()) for sender, receiver in ways)
