# Fetches over HTTP/3 by libcurl: http3_curl.py FOLDER-OF-CURL-CFFI URL TIMES
# Prints status and version of the last answer, and the SHA-256 of each different body.
import hashlib, io, sys
sys.path.insert(0, sys.argv[1])
from curl_cffi import Curl, CurlInfo, CurlOpt

curl = Curl()
bodies = set()
for _ in range(int(sys.argv[3])):
    body = io.BytesIO()
    curl.setopt(CurlOpt.URL, sys.argv[2].encode())
    curl.setopt(CurlOpt.HTTP_VERSION, 31)  # HTTP/3 only
    curl.setopt(CurlOpt.SSL_VERIFYPEER, 0)
    curl.setopt(CurlOpt.SSL_VERIFYHOST, 0)
    curl.setopt(CurlOpt.WRITEDATA, body)
    curl.perform()
    bodies.add(hashlib.sha256(body.getvalue()).hexdigest())
print(curl.getinfo(CurlInfo.RESPONSE_CODE), curl.getinfo(CurlInfo.HTTP_VERSION), *bodies)
