"""Server set-ups that serve a folder, for `bench/resume`. Each is started as its maker's first page shows it."""

import os
import shutil
import subprocess

PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs", "resume")

NGINX = """daemon off; master_process off; pid {folder}/pid; error_log /dev/null;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
  fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {www}; {more} }} }}
"""
APACHE = """ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog /dev/null
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
DocumentRoot {www}
{more}
"""
LIGHTTPD = """server.document-root = "{www}"
server.bind = "127.0.0.1"
server.port = {port}
{more}
"""


class Missing(Exception):
    """What a set-up needs and this machine lacks."""


def program(name, more=()):
    found = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", *more]))
    if not found:
        raise Missing(name)
    return found


class SetUps:
    """All set-ups by name, each a function of (folder, www, port) that gives a command and its environment."""

    def __init__(self, peers, wirelap):
        self.peers, self.wirelap = peers, wirelap

    def all(self):
        yield "nginx", self.nginx("")
        yield "nginx, `etag off`", self.nginx("etag off;")
        yield "nginx, `max_ranges 0`", self.nginx("max_ranges 0;")
        yield "nginx, no ETag and no Last-Modified", self.nginx(
            "etag off; if_modified_since off; add_header Last-Modified \"\";")
        yield "H2O", self.h2o
        yield "Caddy", self.caddy
        yield "Apache", self.apache("")
        yield "Apache, `FileETag None`", self.apache("FileETag None")
        yield "lighttpd", self.lighttpd('mimetype.assign = ("" => "application/octet-stream")')
        yield "lighttpd, a type that it does not know", self.lighttpd("")
        yield "webfsd", self.webfsd
        yield "BusyBox httpd", self.busybox
        yield "Python `http.server`", self.python("stdlib")
        yield "aiohttp", self.python("aiohttp")
        yield "Starlette on uvicorn", self.python("starlette")
        yield "Flask", self.python("flask")
        yield "Tornado", self.python("tornado")
        yield "Twisted", self.python("twisted")
        yield "Node `http`, a stream piped", self.node("http")
        yield "Express", self.node("express")
        yield "Koa, koa-send", self.node("koa")
        yield "Fastify", self.node("fastify")
        yield "http-server (npm)", self.node("http-server")
        yield "serve-handler (npm)", self.node("serve")
        yield "Go `http.FileServer`", self.go("files")
        yield "Go `http.ServeContent` without a time", self.go("content")
        yield "Jetty 12", self.java("jetty")
        yield "Jetty 12, `setEtags(true)`", self.java("jetty-etags")
        yield "Tomcat 10", self.java("tomcat")
        yield "Undertow", self.java("undertow")
        yield "Undertow, with ETags", self.java("undertow-etags")
        yield "Puma, Rack::Files", self.puma
        yield "wirelap serve", self.own

    def nginx(self, more):
        return lambda folder, www, port: (
            [program("nginx"), "-e", "/dev/null", "-c", written(folder, "nginx.conf", NGINX.format(
                folder=folder, www=www, port=port, more=more))], {})

    def apache(self, more):
        return lambda folder, www, port: (
            [program("apache2"), "-D", "FOREGROUND", "-f", written(folder, "apache.conf", APACHE.format(
                folder=folder, www=www, port=port, more=more))], {})

    def lighttpd(self, more):
        def start(folder, www, port):
            root = os.path.join(self.peers, "deb", "root")
            command = [program("lighttpd", [os.path.join(root, "usr/sbin")]), "-D"]
            modules = os.path.join(root, "usr/lib/lighttpd")
            if os.path.isdir(modules):
                command += ["-m", modules]
            conf = written(folder, "lighttpd.conf", LIGHTTPD.format(www=www, port=port, more=more))
            return command + ["-f", conf], {}
        return start

    def h2o(self, folder, www, port):
        conf = (f"listen:\n  host: 127.0.0.1\n  port: {port}\nnum-threads: 1\nhosts:\n  default:\n    paths:\n"
                f"      /:\n        file.dir: {www}\n")
        return [program("h2o"), "-c", written(folder, "h2o.conf", conf)], {}

    def caddy(self, folder, www, port):
        return [program("caddy"), "file-server", "--root", www, "--listen", f"127.0.0.1:{port}"], {
            "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}

    def webfsd(self, folder, www, port):
        bin = os.path.join(self.peers, "deb/root/usr/bin")
        return [program("webfsd", [bin]), "-F", "-i", "127.0.0.1", "-p", str(port), "-r", www], {}

    def busybox(self, folder, www, port):
        bin = os.path.join(self.peers, "deb/root/bin")
        return [program("busybox", [bin]), "httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", www], {}

    def python(self, kind):
        def start(folder, www, port):
            needed = {"stdlib": "", "starlette": "uvicorn"}.get(kind, kind)
            if not os.path.isdir(os.path.join(self.peers, "py", needed)):
                raise Missing(f"{kind} (pip)")
            return [program("python3"), os.path.join(PROGRAMS, "served.py"), kind, str(port), www], {
                "PYTHONPATH": os.path.join(self.peers, "py")}
        return start

    def node(self, kind):
        def start(folder, www, port):
            modules = os.path.join(self.peers, "npm", "node_modules")
            if not os.path.isdir(modules):
                raise Missing(f"{kind} (npm)")
            return [program("node"), os.path.join(PROGRAMS, "node.cjs"), kind, str(port), www], {"NODE_PATH": modules}
        return start

    def java(self, kind):
        def start(folder, www, port):
            jars = os.path.join(self.peers, "java", "lib")
            if not os.path.isdir(jars):
                raise Missing(f"{kind} (Maven)")
            return [program("java"), "-Xmx256m", "-cp", f"{jars}/*", os.path.join(PROGRAMS, "Served.java"), kind,
                    str(port), www], {}
        return start

    def go(self, kind):
        def start(folder, www, port):
            built = os.path.join(folder, "served")
            subprocess.run([program("go", ["/usr/local/go/bin"]), "build", "-o", built,
                            os.path.join(PROGRAMS, "served.go")], check=True)
            return [built, kind, str(port), www], {}
        return start

    def puma(self, folder, www, port):
        root = os.path.join(self.peers, "deb", "root")
        if not os.path.exists(os.path.join(root, "usr/bin/ruby3.1")):
            raise Missing("puma")
        gems, libs = os.path.join(root, "usr/share/rubygems-integration/all"), os.path.join(root, "usr/lib")
        machine = os.path.join(libs, "x86_64-linux-gnu")
        load = [os.path.join(root, "usr/lib/ruby/3.1.0"), os.path.join(machine, "ruby/3.1.0"),
                os.path.join(root, "usr/lib/ruby/vendor_ruby"), os.path.join(root, "usr/lib/ruby/vendor_ruby/3.1.0"),
                os.path.join(machine, "ruby/vendor_ruby/3.1.0")]
        # Debian puts compiled parts beside the gems.
        extensions = os.path.join(machine, "rubygems-integration/3.1.0/extensions/x86_64-linux/3.1.0")
        if os.path.isdir(extensions):
            load += [os.path.join(extensions, gem) for gem in sorted(os.listdir(extensions))]
        for kind in (gems, os.path.join(machine, "rubygems-integration/3.1.0")):
            folders = os.path.join(kind, "gems")
            load += [os.path.join(folders, gem, "lib") for gem in sorted(os.listdir(folders))] \
                if os.path.isdir(folders) else []
        conf = written(folder, "config.ru", f"require 'rack'\nrun Rack::Files.new('{www}')\n")
        return [os.path.join(root, "usr/bin/ruby3.1"), *(f"-I{path}" for path in load), "-e",
                "require 'puma/cli'; Puma::CLI.new(ARGV).run", "--", "-q", "-b", f"tcp://127.0.0.1:{port}", conf], {
                    "LD_LIBRARY_PATH": machine, "GEM_PATH": gems}

    def own(self, folder, www, port):
        return [self.wirelap, "serve", www, "--listen", f"127.0.0.1:{port}", "--threads", "1"], {}


def written(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path
