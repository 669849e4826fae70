// One of Node's ways of serving a folder: node.cjs KIND PORT FOLDER.
const [kind, port, folder] = process.argv.slice(2);
const fs = require("fs");
const http = require("http");
const path = require("path");
const listen = (handler) => http.createServer(handler).listen(+port, "127.0.0.1");
const kinds = {
  http: () =>
    listen((request, response) => {
      const file = path.join(folder, path.basename(request.url));
      response.setHeader("Content-Length", fs.statSync(file).size);
      fs.createReadStream(file).pipe(response);
    }),
  express: () => {
    const express = require("express");
    express().use(express.static(folder)).listen(+port, "127.0.0.1");
  },
  koa: () => {
    const Koa = require("koa");
    const send = require("koa-send");
    const app = new Koa();
    app.use((context) => send(context, context.path, { root: folder }));
    app.listen(+port, "127.0.0.1");
  },
  fastify: () => {
    const app = require("fastify")();
    app.register(require("@fastify/static"), { root: folder });
    app.listen({ port: +port, host: "127.0.0.1" });
  },
  "http-server": () =>
    require("http-server").createServer({ root: folder, cache: 3600 }).listen(+port, "127.0.0.1"),
  serve: () => {
    const serve = require("serve-handler");
    listen((request, response) => serve(request, response, { public: folder, etag: true }));
  },
};
kinds[kind]();
