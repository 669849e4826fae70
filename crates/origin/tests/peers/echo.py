"""POSTs to /echo as Python's own http.client does: all of the request goes before anything of the response is read.

echo.py URL BYTES [ROOT]    prints the status and how many bytes came back, or the name of the error
"""

import http.client
import ssl
import sys
import urllib.parse

url, length = urllib.parse.urlsplit(sys.argv[1]), int(sys.argv[2])
if url.scheme == "https":
    context = ssl.create_default_context(cafile=sys.argv[3])
    connection = http.client.HTTPSConnection(url.netloc, timeout=60, context=context)
else:
    connection = http.client.HTTPConnection(url.netloc, timeout=60)
body = bytes(at % 251 for at in range(length))
try:
    connection.request("POST", url.path, body)
    response = connection.getresponse()
    answer = response.read()
    same = "same" if answer == body else f"{len(answer)} other"
    print(response.status, same, "bytes")
except (OSError, http.client.HTTPException) as error:
    print(type(error).__name__)
