"""One of Python's ways of serving a folder: served.py KIND PORT FOLDER."""

import sys


def stdlib(port, folder):
    import functools
    import http.server
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    http.server.ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()


def aiohttp(port, folder):
    from aiohttp import web
    app = web.Application()
    app.router.add_static("/", folder)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


def starlette(port, folder):
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles
    app = Starlette(routes=[Mount("/", app=StaticFiles(directory=folder))])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical")


def flask(port, folder):
    import flask as f
    app = f.Flask(__name__, static_folder=None)
    app.add_url_rule("/<path:name>", view_func=lambda name: f.send_from_directory(folder, name))
    app.run(host="127.0.0.1", port=port, threaded=True)


def tornado(port, folder):
    import asyncio
    import tornado.web

    async def main():
        app = tornado.web.Application([(r"/(.*)", tornado.web.StaticFileHandler, {"path": folder})])
        app.listen(port, "127.0.0.1")
        await asyncio.Event().wait()
    asyncio.run(main())


def twisted(port, folder):
    from twisted.internet import reactor
    from twisted.web import server, static
    reactor.listenTCP(port, server.Site(static.File(folder)), interface="127.0.0.1")
    reactor.run()


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
