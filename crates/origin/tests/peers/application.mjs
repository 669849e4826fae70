// An application server: says its port, then answers until its input ends.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

let written = 0;
let gone = 0;
const pieces = (response, bytes) => {
  // As fast as the other side takes them.
  while (bytes > 0) {
    const length = Math.min(bytes, 65536);
    bytes -= length;
    written += length;
    if (!response.write(Buffer.alloc(length, 7))) {
      return response.once('drain', () => pieces(response, bytes));
    }
  }
  return response.end();
};
const answers = {
  '/': (request, response) => {
    response.writeEarlyHints({ link: '</early.css>; rel=preload; as=style' });
    setTimeout(() => {
      response.setHeader('link', ['</app.js>; rel=preload; as=script', '</kept.js>; rel=preload; as=script; nopush']);
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><p>from the application');
    }, 20);
  },
  '/faults': (request, response) => {
    response.setHeader('link', ['/gone.css', '/drop', '/app.js'].map((path) => `<${path}>; rel=preload`));
    response.end();
  },
  '/early.css': (request, response) => response.end(' '.repeat(20000)),
  '/app.js': (request, response) => response.end(' '.repeat(30000)),
  '/api': (request, response) => response.end('the application\'s own /api'),
  '/headers': (request, response) => response.end(JSON.stringify({ method: request.method, url: request.url, ...request.headers })),
  '/sum': (request, response) => {
    const digest = createHash('sha256');
    request.on('data', (piece) => digest.update(piece));
    request.on('end', () => response.end(digest.digest('hex')));
  },
  '/big': (request, response, url) => pieces(response, Number(url.searchParams.get('bytes'))),
  '/break': (request, response) => {
    response.writeHead(200, { 'content-length': 100000 });
    response.write('x'.repeat(1000), () => setTimeout(() => response.destroy(), 20));
  },
  '/drop': (request, response) => response.destroy(),
  '/never': (request, response) => response.on('close', () => { gone += 1; }),
  '/close': (request, response) => { response.setHeader('connection', 'close'); response.end('closed'); },
  '/counts': (request, response) => response.end(`${written} ${gone}`),
};
const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const answer = answers[url.pathname];
  if (answer) return answer(request, response, url);
  response.statusCode = 404;
  return response.end('no such thing in the application');
});
// So short that kept connections are closed while tests run.
server.keepAliveTimeout = 200;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
