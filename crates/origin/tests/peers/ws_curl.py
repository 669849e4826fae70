# Speaks with an echo WebSocket by libcurl: ws_curl.py FOLDER-OF-CURL-CFFI URL
# Its messages go whole, in fragments, with a ping between, and end with a close of ours.
import sys, time
sys.path.insert(0, sys.argv[1])
from curl_cffi import Curl, CurlError, CurlOpt, CurlWsFlag, CurlECode

AGAIN = CurlECode.AGAIN
curl = Curl()
curl.setopt(CurlOpt.URL, (sys.argv[2] + "/ws/echo").encode())
curl.setopt(CurlOpt.SSL_VERIFYPEER, 0)
curl.setopt(CurlOpt.SSL_VERIFYHOST, 0)
curl.setopt(CurlOpt.CONNECT_ONLY, 2)
curl.perform()


def patiently(act):
    for _ in range(10000):
        try:
            return act()
        except CurlError as error:
            if error.code != AGAIN:
                raise
            time.sleep(0.001)
    raise TimeoutError("nothing came")


def receive():
    whole, kind = b"", None
    while True:
        part, frame = patiently(curl.ws_recv)
        whole, kind = whole + part, kind or frame.flags
        if frame.bytesleft == 0 and not frame.flags & CurlWsFlag.CONT:
            return whole, kind & ~CurlWsFlag.CONT


def send(message, flags):
    rest = message
    while True:
        sent = patiently(lambda: curl.ws_send(rest, flags))
        rest = rest[sent:]
        if not rest:
            return


messages = [b"hello", "grüße, 世界 🌍".encode(), *(b"number %d" % n for n in range(200))]
for message in messages:
    send(message, CurlWsFlag.TEXT)
    assert receive() == (message, CurlWsFlag.TEXT), message
binary = b"\x00\xff" * 50000
send(binary, CurlWsFlag.BINARY)
assert receive() == (binary, CurlWsFlag.BINARY)
for part in (b"frag", b"men"):
    send(part, CurlWsFlag.TEXT | CurlWsFlag.CONT)
send(b"ts", CurlWsFlag.TEXT)
assert receive() == (b"fragments", CurlWsFlag.TEXT)
send(b"still there?", CurlWsFlag.PING)
assert receive() == (b"still there?", CurlWsFlag.PONG)
send(b"\x03\xe8enough", CurlWsFlag.CLOSE)
code, kind = receive()
assert kind == CurlWsFlag.CLOSE, kind
print("echo", len(messages) + 2, int.from_bytes(code[:2], "big"))
