'use strict';
// A static file server on node-spdy, as a server subject: the configuration's path is its argument, a line a
// request is its log (LTSV), and exit code 127 says that the module is not there.
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');

function spdyModule() {
  const cache = process.env.XDG_CACHE_HOME || path.join(process.env.HOME || '/', '.cache');
  const places = [process.cwd(), path.join(cache, 'wirelap', 'peers', 'node')];
  try {
    return require(require.resolve('spdy', { paths: places }));
  } catch (error) {
    console.error(`the module spdy is in none of ${places.join(', ')}`);
    process.exit(127);
  }
}

const config = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const spdy = spdyModule();
const log = fs.openSync(config.log, 'a');

// node-spdy's own name of a protocol is its ALPN name, but for these.
const plain = { 'http/1.1': ['http/1.1'], 'spdy/3.1': ['spdy/3.1'], h2: ['h2'] };

const options = {
  cert: fs.readFileSync(config.chain),
  key: fs.readFileSync(config.key),
  minVersion: `TLSv${config.tls}`,
  maxVersion: `TLSv${config.tls}`,
  secureOptions: config.resumption ? 0 : crypto.constants.SSL_OP_NO_TICKET,
  spdy: { protocols: plain[config.transport] },
};

// The media types that the origin gives.
const types = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

function typeOf(name) {
  if (name === '/page') return 'text/html';
  if (name.startsWith('/image/')) return 'image/png';
  return types[path.extname(name)] || 'application/octet-stream';
}

function tell(request, response, bytes) {
  // A stream's own socket is node-spdy's invention; the connection's is the system's.
  const raw = request.spdyStream ? request.spdyStream.connection.socket : request.socket;
  const facts = {
    connection: raw.remotePort,
    protocol: request.isSpdy ? config.transport : 'http/1.1',
    tls: raw.getProtocol ? raw.getProtocol() : '-',
    resumed: raw.isSessionReused ? raw.isSessionReused() : '-',
    status: response.statusCode,
    bytes,
    target: request.url,
  };
  const line = Object.entries(facts).map(([label, value]) => `${label}:${value}`);
  fs.writeSync(log, line.join('\t') + '\n');
}

function refuse(request, response, status) {
  response.writeHead(status, { 'content-length': 0 });
  response.end();
  tell(request, response, 0);
}

function answer(request, response) {
  let name;
  try {
    name = decodeURIComponent(request.url.split('?')[0]);
  } catch (error) {
    return refuse(request, response, 400);
  }
  const file = path.join(config.root, path.normalize('/' + name));
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(request, response, 405);
  fs.stat(file, (error, facts) => {
    if (error || !facts.isFile()) return refuse(request, response, 404);
    response.writeHead(200, {
      'content-type': typeOf(name),
      'content-length': facts.size,
    });
    if (request.method === 'HEAD') {
      response.end();
      return tell(request, response, 0);
    }
    const body = fs.createReadStream(file);
    body.on('error', () => response.destroy());
    body.on('end', () => tell(request, response, facts.size));
    body.pipe(response);
  });
}

const server = spdy.createServer(options, answer);
server.listen(config.port, config.address);
process.on('SIGTERM', () => process.exit(0));
