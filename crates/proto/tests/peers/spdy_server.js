// node-spdy as a server in clear on 127.0.0.1, port argv[2]: /bytes/N, /echo, /push, /cookies.
const spdy = require('spdy');

function pattern(count) {
  const body = Buffer.alloc(count);
  for (let at = 0; at < count; at += 1) {
    body[at] = Number((BigInt(at) * 2654435761n) >> 13n & 255n);
  }
  return body;
}

const protocols = ['spdy/3.1', 'spdy/3'];
// In clear there is no ALPN to tell 3.1 from 3: without this it is 3, and the session gets no credit.
const settings = { plain: true, ssl: false, protocols, connection: { autoSpdy31: true } };
spdy.createServer({ spdy: settings }, (request, response) => {
  const size = /^\/bytes\/(\d+)$/.exec(request.url);
  response.setHeader('x-spdy-version', String(request.spdyVersion));
  if (size) {
    response.end(pattern(Number(size[1])));
  } else if (request.url === '/echo') {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => response.end(Buffer.concat(parts)));
  } else if (request.url === '/push') {
    const pushed = response.push('/pushed', { response: { 'content-type': 'text/plain' } });
    pushed.on('error', () => {});
    pushed.end('pushed by node-spdy');
    response.end('pushing');
  } else if (request.url === '/cookies') {
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end(request.headers.cookie);
  } else {
    response.statusCode = 404;
    response.end();
  }
}).listen(Number(process.argv[2]), '127.0.0.1');
