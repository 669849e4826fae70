// node-spdy against the server at 127.0.0.1, port argv[2], over the protocol argv[3]: its agent for what
// that still can do on a current Node, and the session below it for bodies and pushes.
const assert = require('node:assert');
const http = require('node:http');
const net = require('node:net');
const spdy = require('spdy');
const transport = require('spdy-transport');

const port = Number(process.argv[2]);
const [, version] = process.argv[3].split('/');

function collect(stream) {
  return new Promise((resolve, reject) => {
    const parts = [];
    stream.on('data', (part) => parts.push(part));
    stream.on('end', () => resolve(Buffer.concat(parts)));
    stream.on('error', reject);
  });
}

async function byAgent() {
  const options = { plain: true, ssl: false, protocol: process.argv[3] };
  const agent = spdy.createAgent({ host: '127.0.0.1', port, spdy: options });
  agent.setMaxListeners(100);
  const get = (path) => new Promise((resolve, reject) => {
    const answered = (response) => {
      assert.strictEqual(response.statusCode, 200);
      collect(response).then(resolve, reject);
    };
    http.get({ host: '127.0.0.1', port, path, agent }, answered).on('error', reject);
  });
  const sizes = Array.from({ length: 50 }, (_, n) => n * 3000);
  const bodies = await Promise.all(sizes.map((size) => get(`/bytes/${size}`)));
  assert.deepStrictEqual(bodies.map((body) => body.length), sizes);
}

async function bySession() {
  const socket = net.connect(port, '127.0.0.1');
  const session = transport.connection.create(socket, { protocol: 'spdy', isServer: false });
  session.start(Number(version));
  const ask = (method, path) => new Promise((resolve, reject) => {
    session.request({ method, host: 'a.test', path, headers: {} }, (error, stream) => {
      if (error) reject(error); else resolve(stream);
    });
  });
  const sent = Buffer.alloc(500000, 'wirelap');
  const echo = await ask('POST', '/echo');
  echo.end(sent);
  assert.ok((await collect(echo)).equals(sent));
  const page = await ask('GET', '/push');
  const pushed = new Promise((resolve) => page.on('pushPromise', (push) => resolve(collect(push))));
  page.end();
  await collect(page);
  assert.strictEqual((await pushed).length, 1000);
}

byAgent().then(bySession).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
setTimeout(() => { console.error('no end'); process.exit(1); }, 30000);
