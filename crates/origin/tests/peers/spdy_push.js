// node-spdy's session against the origin at 127.0.0.1, port argv[2]: asks for argv[3] and prints what was pushed with it.
const net = require('node:net');
const transport = require('spdy-transport');

const socket = net.connect(Number(process.argv[2]), '127.0.0.1');
const session = transport.connection.create(socket, { protocol: 'spdy', isServer: false });
session.start(3.1);

function size(stream) {
  return new Promise((resolve, reject) => {
    let total = 0;
    stream.on('data', (part) => { total += part.length; });
    stream.on('end', () => resolve(total));
    stream.on('error', reject);
  });
}

session.request({ method: 'GET', host: 'a.test', path: process.argv[3], headers: {} }, (error, page) => {
  if (error) throw error;
  const pushes = [];
  page.on('pushPromise', (push) => {
    pushes.push(size(push).then((total) => `pushed ${push.path} ${total}`));
  });
  page.end();
  size(page).then(async (total) => {
    for (const line of (await Promise.all(pushes)).sort()) console.log(line);
    console.log(`page ${total}`);
    process.exit(0);
  });
});
setTimeout(() => { console.error('no end'); process.exit(1); }, 30000);
