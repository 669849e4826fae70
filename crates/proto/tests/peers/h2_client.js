// Node's HTTP/2 client against the server at argv[1]: many streams, hints, pushes, trailers, cancels.
const http2 = require('node:http2');
const assert = require('node:assert');
const session = http2.connect(process.argv[2]);

function ask(headers, body) {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    const answer = { status: 0, hints: 0, trailers: {}, parts: [] };
    stream.on('headers', () => { answer.hints += 1; });
    stream.on('response', (fields) => { answer.status = fields[':status']; });
    stream.on('trailers', (fields) => { answer.trailers = fields; });
    stream.on('data', (part) => answer.parts.push(part));
    stream.on('end', () => resolve({ ...answer, body: Buffer.concat(answer.parts) }));
    stream.on('error', reject);
    if (body !== undefined) stream.end(body);
  });
}

(async () => {
  const sizes = Array.from({ length: 200 }, (_, n) => n * 700);
  const answers = await Promise.all(sizes.map((size) => ask({ ':path': `/bytes/${size}` })));
  answers.forEach((answer, n) => assert.strictEqual(answer.body.length, sizes[n]));
  assert.strictEqual((await ask({ ':path': '/hints' })).hints, 1);
  assert.strictEqual((await ask({ ':path': '/trailers' })).trailers['x-sum'], '42');
  const sent = Buffer.alloc(2000000, 'wirelap');
  const echoed = await ask({ ':path': '/echo', ':method': 'POST' }, sent);
  assert.ok(echoed.body.equals(sent));
  const pushed = new Promise((resolve) => session.on('stream', (stream) => {
    let bytes = 0;
    stream.on('data', (part) => { bytes += part.length; });
    stream.on('end', () => resolve(bytes));
  }));
  await ask({ ':path': '/push' });
  assert.strictEqual(await pushed, 1000);
  const cancelled = session.request({ ':path': '/bytes/50000000' });
  cancelled.on('data', () => cancelled.close(http2.constants.NGHTTP2_CANCEL));
  await new Promise((resolve) => cancelled.on('close', resolve));
  assert.strictEqual((await ask({ ':path': '/' })).status, 200);
  session.close();
})().catch((error) => { console.error(error); process.exit(1); });
