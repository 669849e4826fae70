'use strict';
// Messages and their echoes on `ws`, as a server subject: WebSockets at /ws/double and /ws/echo, and the same as requests. The
// configuration's path is its argument; exit code 127 says that the module is not there.
const fs = require('fs');
const http = require('http');
const https = require('https');
const path = require('path');

function wsModule() {
  const cache = process.env.XDG_CACHE_HOME || path.join(process.env.HOME || '/', '.cache');
  const places = [process.cwd(), path.join(cache, 'wirelap', 'peers', 'node')];
  try {
    return require(require.resolve('ws', { paths: places }));
  } catch (error) {
    console.error(`the module ws is in none of ${places.join(', ')}`);
    process.exit(127);
  }
}

const config = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const { WebSocketServer } = wsModule();

function answer(request, response) {
  const url = new URL(request.url, 'http://echo.test');
  const end = (status, body) => {
    response.writeHead(status, { 'content-type': 'text/plain', 'content-length': body.length });
    response.end(body);
  };
  if (url.pathname === '/double' && request.method === 'GET') {
    const number = url.searchParams.get('number');
    return /^\d+$/.test(number) ? end(200, Buffer.from(String(2 * number))) : end(400, Buffer.alloc(0));
  }
  if (url.pathname === '/echo' && request.method === 'POST') {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    return request.on('end', () => end(200, Buffer.concat(pieces)));
  }
  return end(404, Buffer.alloc(0));
}

const secured = config.tls !== 'none';
const options = secured && {
  cert: fs.readFileSync(config.chain),
  key: fs.readFileSync(config.key),
  minVersion: `TLSv${config.tls}`,
  maxVersion: `TLSv${config.tls}`,
};
const server = secured ? https.createServer(options, answer) : http.createServer(answer);
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: config.deflate });
const services = {
  '/ws/double': (text) => String(2 * text),
  '/ws/echo': (text) => text,
};
server.on('upgrade', (request, socket, head) => {
  const service = services[request.url];
  if (!service) return socket.destroy();
  return sockets.handleUpgrade(request, socket, head, (opened) => {
    opened.on('message', (data) => opened.send(service(data.toString())));
  });
});
server.listen(config.port, config.address);
process.on('SIGTERM', () => process.exit(0));
