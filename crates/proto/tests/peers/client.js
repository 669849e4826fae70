// Node's HTTP client against the server at argv[1]: keep-alive, early hints, chunks with trailers.
const http = require('node:http');
const assert = require('node:assert');
const base = new URL(process.argv[2]);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function ask(options, body, trailers) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: base.hostname, port: base.port, agent, ...options }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve({ response, hints, body: Buffer.concat(parts) }));
      response.on('error', reject);
    });
    let hints = 0;
    request.on('information', () => { hints += 1; });
    request.on('error', reject);
    if (trailers) request.addTrailers(trailers);
    for (const part of body ?? []) request.write(part);
    request.end();
  });
}

(async () => {
  let answer = await ask({ path: '/length/100000' });
  assert.strictEqual(answer.body.length, 100000);
  answer = await ask({ path: '/hints' });
  assert.strictEqual(answer.hints, 1);
  assert.strictEqual(answer.body.toString(), 'hello');
  answer = await ask({ path: '/trailers' });
  assert.strictEqual(answer.response.trailers['x-sum'], '42');
  answer = await ask({ path: '/echo', method: 'POST', headers: { Trailer: 'x-sum' } }, ['a', 'bc'], { 'x-sum': '7' });
  assert.strictEqual(answer.body.toString(), 'abc');
  assert.strictEqual(answer.response.headers['x-trailer'], '7');
  answer = await ask({ path: '/length/5', method: 'HEAD' });
  assert.strictEqual(answer.response.headers['content-length'], '5');
  agent.destroy();
})().catch((error) => { console.error(error); process.exit(1); });
