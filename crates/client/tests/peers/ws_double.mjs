// Doubles numbers over WebSocket: ws_double.mjs PACKAGES [CHAIN KEY]. A 13 is answered wrongly. Says its port when it listens.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
const [packages, chain, key] = process.argv.slice(2);
const { WebSocketServer } = createRequire(`${packages}/`)("ws");
const server = chain
  ? https.createServer({ cert: readFileSync(chain), key: readFileSync(key) })
  : http.createServer();
new WebSocketServer({ server, perMessageDeflate: { threshold: 0 } }).on("connection", (socket) =>
  socket.on("message", (number) =>
    socket.send(`${number}` === "13" ? "bad luck" : String(2 * Number(`${number}`)))));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
