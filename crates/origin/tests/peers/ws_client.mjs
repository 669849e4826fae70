// Speaks with an echo and a doubling WebSocket: ws_client.mjs FOLDER-OF-WS URL plain|deflate
import { createRequire } from 'node:module';
const { WebSocket } = createRequire(`${process.argv[2]}/`)('ws');

const [, , , url, coding] = process.argv;
const options = {
  rejectUnauthorized: false,
  perMessageDeflate: coding === 'deflate' ? { threshold: 0 } : false,
  maxPayload: 0,
};
const messages = ['', 'hello', 'grüße, 世界 🌍', Buffer.alloc(300000, 'wirelap '), Buffer.from([0, 255, 128])];
for (let n = 0; n < 200; n++) messages.push(`{"n":${n},"text":"a message much like the one before it"}`);

const echo = new WebSocket(`${url}/ws/echo`, options);
let heard = 0;
echo.on('open', () => { for (const message of messages) echo.send(message); echo.ping('still there?'); });
echo.on('message', (data, isBinary) => {
  const sent = messages[heard++];
  const same = Buffer.from(sent).equals(data) && isBinary === (typeof sent !== 'string');
  if (!same) { console.log(`message ${heard} came back changed`); process.exit(1); }
  if (heard === messages.length) echo.close(1000, 'enough');
});
echo.on('pong', (data) => { console.log(`pong ${data}`); });
echo.on('close', (code) => {
  console.log(`echo ${heard} ${code} ${echo.extensions || 'plain'}`);
  const double = new WebSocket(`${url}/ws/double`, options);
  double.on('open', () => { double.send('-20.5'); double.send('tea'); });
  double.on('message', (data) => { console.log(`double ${data}`); });
  double.on('close', (code, reason) => { console.log(`refused ${code} ${reason}`); });
});
echo.on('error', (error) => { console.log(String(error)); process.exit(1); });
