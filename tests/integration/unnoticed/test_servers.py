"""Servers and proxies, in the clear and over TLS: their clients get the same answers, they make the same calls, and say and end the same."""
import os
import shutil

import pytest

import certificates
import pairs
from conftest import BUILD, PYTHON, TESTS
from small_apps import APPS
from ways import Program, check_unnoticed, until_closed

HERE = TESTS / "unnoticed"
ROOT = os.geteuid() == 0
FPM = next((path for path in (f"/usr/sbin/php-fpm8.{minor}" for minor in range(9)) if os.path.exists(path)), None)
# What is asked of every server; $URL.
CURL = """
curl -sS $URL/get; echo; curl -sS -d a=b $URL/form; echo; curl -sS $URL/one $URL/two $URL/three | sort; curl -sS -o /dev/null -w '%{http_code} %{num_connects}\\n' --head $URL/head
curl -sS -H 'Transfer-Encoding: chunked' --data-binary @large $URL/chunks; curl -sS --data-binary @large -H Expect: $URL/file; curl -sSf $URL/absent; echo $?"""

NGINX = """
daemon off; %(user)s pid nginx.pid; error_log stderr; worker_processes 2;
events { worker_connections 64; }
http {
  access_log off; sendfile on; ssl_certificate %(tls)s/cert.pem; ssl_certificate_key %(tls)s/key.pem;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  upstream kept { server localhost:${port:echo}; keepalive 4; }
  server {
    listen 127.0.0.1:${port:front}; listen 127.0.0.1:${port:front-tls} ssl;
    location /static/ { root .; }
    location /over-tls/ {
      proxy_pass https://localhost:${port:encrypted}/; proxy_ssl_verify on; proxy_ssl_trusted_certificate %(tls)s/ca.pem;
      proxy_ssl_name localhost; proxy_http_version 1.1;
    }
    location / { proxy_pass http://kept; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
"""
NGINX_GRPC = """
daemon off; %(user)s pid nginx.pid; error_log stderr;
events { worker_connections 64; }
http {
  access_log off; ssl_certificate %(tls)s/cert.pem; ssl_certificate_key %(tls)s/key.pem;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {
    listen 127.0.0.1:${port:front} http2; listen 127.0.0.1:${port:front-tls} ssl http2;
    location / { grpc_pass grpc://127.0.0.1:${port:calls}; }
  }
}
"""
HAPROXY = """
global
  nbthread 2
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend front
  bind 127.0.0.1:${port:front}
  bind 127.0.0.1:${port:front-tls} ssl crt pair.pem alpn h2,http/1.1
  use_backend encrypted if { path_beg /over-tls }
  default_backend plain
backend plain
  server echo 127.0.0.1:${port:echo}
backend encrypted
  server echo 127.0.0.1:${port:encrypted} ssl verify required ca-file %(tls)s/ca.pem verifyhost localhost
"""
APACHE = """
ServerRoot %(directory)s
ServerName localhost
%(apache_user)s
PidFile apache.pid
ErrorLog /dev/stderr
DocumentRoot %(directory)s
%(modules)s
Listen 127.0.0.1:${port:front}
Listen 127.0.0.1:${port:front-tls}
Protocols h2 http/1.1
SSLCertificateFile %(tls)s/cert.pem
SSLCertificateKeyFile %(tls)s/key.pem
<VirtualHost *:${port:front-tls}>
  SSLEngine on
</VirtualHost>
SSLProxyEngine on
SSLProxyCACertificateFile %(tls)s/ca.pem
<Directory %(directory)s>
  Require all granted
</Directory>
ProxyPass /static/ !
ProxyPass /php/ "unix:%(directory)s/fpm.sock|fcgi://localhost%(directory)s/index.php/"
ProxyPass /over-tls/ https://localhost:${port:encrypted}/
ProxyPass / http://localhost:${port:echo}/
"""
MODULES = ["mpm_event", "authz_core", "ssl", "socache_shmcb", "http2", "proxy", "proxy_http", "proxy_fcgi"]
POOL = """
[global]
error_log = %(directory)s/fpm.log
daemonize = no
[www]
listen = %(directory)s/fpm.sock
%(pool_user)s
pm = static
pm.max_children = 2
clear_env = no
"""
PHP = """<?php
foreach (['PLAIN', 'ENCRYPTED'] as $back) {
    $call = curl_init(getenv($back) . '/from-php');
    curl_setopt_array($call, [CURLOPT_RETURNTRANSFER => true, CURLOPT_CAINFO => getenv('SSL_CERT_FILE'), CURLOPT_POSTFIELDS => file_get_contents('php://input')]);
    echo curl_exec($call);
    $context = stream_context_create(['ssl' => ['cafile' => getenv('SSL_CERT_FILE')]]);
    echo file_get_contents(getenv($back) . '/from-stream', false, $context);
}
"""
# A WSGI and an ASGI application that ask echo in the clear and over TLS.
WSGI = """
import os, urllib.request
def app(environ, start):
    body = environ["wsgi.input"].read() if environ.get("wsgi.input_terminated") else environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    text = environ["REQUEST_METHOD"].encode() + environ["PATH_INFO"].encode() + b" %d " % len(body)
    for back in ("PLAIN", "ENCRYPTED"):
        text += urllib.request.urlopen(os.environ[back] + "/asked").read()
    start("404 Not Found" if "absent" in environ["PATH_INFO"] else "200 OK", [("Content-Length", str(len(text)))])
    return [text]
"""
ASGI = """
import os, httpx
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    text = scope["method"].encode() + scope["path"].encode() + b" %d " % len(body)
    async with httpx.AsyncClient() as client:
        for back in ("PLAIN", "ENCRYPTED"):
            text += (await client.get(os.environ[back] + "/asked")).content
    await send({"type": "http.response.start", "status": 404 if "absent" in scope["path"] else 200, "headers": [(b"content-length", b"%d" % len(text))]})
    await send({"type": "http.response.body", "body": text})
"""
NODE = """
import cluster from 'cluster'; import fs from 'fs'; import http from 'http'; import https from 'https'; import http2 from 'http2';
const [plain, encrypted, tls, version] = process.argv.slice(2);
const keys = { cert: fs.readFileSync(`${tls}/cert.pem`), key: fs.readFileSync(`${tls}/key.pem`) };
async function answer(request, response) {
  let size = 0;
  for await (const part of request) size += part.length;
  let text = `${request.method} ${request.url} ${size} `;
  for (const back of ['PLAIN', 'ENCRYPTED']) text += await (await fetch(process.env[back] + '/asked')).text();
  response.writeHead(request.url.includes('absent') ? 404 : 200, { 'content-length': text.length });
  response.end(text);
}
if (cluster.isPrimary && version === 'cluster') {
  cluster.fork(); cluster.fork();
  process.on('SIGTERM', () => process.exit(0));
} else if (version === 'http2') {
  http2.createServer(answer).listen(plain, '127.0.0.1'); http2.createSecureServer({ ...keys, allowHTTP1: true }, answer).listen(encrypted, '127.0.0.1');
} else {
  http.createServer(answer).listen(plain, '127.0.0.1'); https.createServer(keys, answer).listen(encrypted, '127.0.0.1');
}
"""
RACK = """
require 'net/http'
run lambda { |env|
  body = env['rack.input'].read
  text = "#{env['REQUEST_METHOD']} #{env['PATH_INFO']} #{body.size} "
  %w[PLAIN ENCRYPTED].each do |back|
    uri = URI("#{ENV[back]}/asked")
    text += Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https', ca_file: ENV['SSL_CERT_FILE']) { |http| http.get('/asked').body }
  end
  [env['PATH_INFO'].include?('absent') ? 404 : 200, { 'Content-Length' => text.size.to_s }, [text]]
}
"""


def two(command):
    """Two services, one in the clear and one over TLS; {} is their options, port and names."""
    return [("front", command("${port:front}", False)), ("front-tls", command("${port:front-tls}", True))]


def gunicorn(worker, file="wsgi"):
    def command(port, encrypted):
        keys = "--certfile %(tls)s/cert.pem --keyfile %(tls)s/key.pem " if encrypted else ""
        return f"exec {PYTHON} -m gunicorn -k {worker} --workers 2 --threads 2 {keys}-b 127.0.0.1:{port} {file}:app"
    return two(command)


def uvicorn(port, encrypted):
    keys = "--ssl-certfile %(tls)s/cert.pem --ssl-keyfile %(tls)s/key.pem " if encrypted else ""
    return f"exec {PYTHON} -m uvicorn {keys}--port {port} asgi:app"


def puma(port, encrypted):
    bind = f"'ssl://127.0.0.1:{port}?cert=%(tls)s/cert.pem&key=%(tls)s/key.pem'" if encrypted else f"tcp://127.0.0.1:{port}"
    return f"exec puma -q -t 2:2 -b {bind} config.ru"


def node(kind):
    return [("node", f"exec node server.mjs ${{port:front}} ${{port:front-tls}} %(tls)s {kind}")]


# (the services, programs that must be there, what is asked instead of CURL or besides)
SERVERS = {
    "nginx": ([("nginx", "exec nginx -e stderr -p . -c $PWD/nginx.conf")], "nginx", CURL + "\ncurl -sS $URL/over-tls/get; curl -sS $URL/static/file | md5sum; curl -sS -r 5-99999 $URL/static/file | md5sum"),
    "haproxy": ([("haproxy", "exec haproxy -db -f haproxy.cfg")], "haproxy", CURL + "\ncurl -sS $URL/over-tls/get"),
    "apache2 with php-fpm": (
        [("apache", f"( while [ ! -S fpm.sock ]; do sleep 0.01; done; exec apache2 -D FOREGROUND -f $PWD/apache.conf ) & exec {FPM} -F -y pool.conf")],
        f"apache2 {FPM}", CURL + "\ncurl -sS $URL/over-tls/get; curl -sS $URL/static/file | md5sum; curl -sS -d a=b $URL/php/form; curl -sS --data-binary @large $URL/php/form"),
    "gunicorn sync": (gunicorn("sync"), "gunicorn", CURL), "gunicorn gthread": (gunicorn("gthread"), "gunicorn", CURL),
    "gunicorn gevent": (gunicorn("gevent"), "gunicorn", CURL),
    "gunicorn uvicorn": (gunicorn("uvicorn.workers.UvicornWorker", "asgi"), "gunicorn", CURL), "uvicorn": (two(uvicorn), "", CURL),
    "node": (node("plain"), "node", CURL), "node cluster": (node("cluster"), "node", CURL),
    "node http2": (node("http2"), "node", CURL.replace("curl -sS", "curl -sS --http2-prior-knowledge").replace("-H 'Transfer-Encoding: chunked'", "")),
    "puma": (two(puma), "puma", CURL),
    "php": ([("front", "PHP_CLI_SERVER_WORKERS=2 exec php -q -S 127.0.0.1:${port:front} index.php")], "php", "curl -sS -d a=b $URL/form; curl -sS --data-binary @large -H Expect: $URL/form"),
    "java": ([("front-tls", f"exec java -cp {BUILD}/tests/java Front ${{port:front-tls}} %(tls)s http")], "java", "BACK curl -sS $URL/a; curl -sS $URL/b"),
    "jetty": ([("front", f"exec java -cp \"$(cat {BUILD}/tests/servlets/classpath)\" Servlets jetty ${{port:front}} $PLAIN")], "java",
              "curl -sS $URL/blocking/7; curl -sS -d a=b $URL/body/7; curl -sS $URL/started/7; curl -sS $URL/absent/7"),
    "grpc behind nginx": ([("calls", f"exec {BUILD}/tests/http2/calls_server ${{port:calls}}"), ("nginx", "exec nginx -e stderr -p . -c $PWD/grpc.conf")], "nginx", None),
}


def ports_of(name, services):
    """{service: names of its ports}"""
    if name == "grpc behind nginx":
        return {"calls": ["calls"], "nginx": ["front", "front-tls"]}
    if name in ("php", "jetty"):
        return {"front": ["front"]}
    return {service: [service] if service in ("front", "front-tls", "calls") else ["front", "front-tls"] for service, _ in services}


# One of each kind: workers by fork, an event loop, several processes at one port, HTTP/2, the JVM. The other servers have the same
# hooks below them, and their calls are in tls/test_tls_servers.py and runtimes/.
@pairs.only("name", ["nginx", "apache2 with php-fpm", "node cluster", "node http2", "jetty", "grpc behind nginx"])
@pytest.mark.parametrize("name", SERVERS)
def test_a_server(open_project, name):
    """As root: nginx, Apache and php-fpm have workers of another user, which must be able to read the files."""
    project, tls = open_project, certificates.make(open_project.directory / "tls")
    for file in tls.iterdir():
        file.chmod(0o644)
    services, needs, asked = SERVERS[name]
    missing = [program for program in needs.split() if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        pytest.skip(f"NOT CHECKED: {', '.join(missing)} is not installed")
    words = {"tls": str(tls), "directory": str(project.directory), "user": "user www-data;" if ROOT else "", "apache_user": "User www-data\nGroup www-data" if ROOT else "",
             "pool_user": "user = www-data\ngroup = www-data\nlisten.owner = www-data" if ROOT else "",
             "modules": "\n".join(f"LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so" for module in MODULES)}
    files = {"nginx.conf": NGINX, "grpc.conf": NGINX_GRPC, "haproxy.cfg": HAPROXY, "apache.conf": APACHE, "pool.conf": POOL}
    for file, text in files.items():
        project.write(file + ".template", text % words)
    for file, text in {"index.php": PHP, "wsgi.py": WSGI, "asgi.py": ASGI, "server.mjs": NODE, "config.ru": RACK}.items():
        project.write(file, text)
    project.write("large", "".join(f"{n:07d}\n" for n in range(30_000)))
    project.write("static/file", "0123456789abcde\n" * 20_000)
    (project.directory / "pair.pem").write_text((tls / "cert.pem").read_text() + (tls / "key.pem").read_text())
    echo = {"name": "echo", "ports": ["echo", "encrypted"], "command": f"exec {PYTHON} {HERE}/echo.py ${{port:echo}} ${{port:encrypted}} {tls} fields"}
    if asked is None:
        environment = {"PATH": os.environ["PATH"] + ":/usr/sbin"}
    else:
        environment = certificates.trusted(tls) | {"PATH": os.environ["PATH"] + ":/usr/sbin", "PYTHONDONTWRITEBYTECODE": "1", "BACK": "https://localhost:${port:encrypted}",
                                               "PLAIN": "http://localhost:${port:echo}", "ENCRYPTED": "https://localhost:${port:encrypted}"}
    ports = ports_of(name, services)
    names = [port for each in ports.values() for port in each] + (["echo", "encrypted"] if asked else [])
    fill = "for file in *.template; do sed " + " ".join(f"-e s/.{{port:{port}}}/${{port:{port}}}/" for port in names) + " $file > ${file%.template}; done; "
    made = [{"name": service, "ports": ports[service], "command": (fill if any(word in command for word in ("nginx", "haproxy", "apache2")) else "") +
             (command % words if "%(" in command else command), "env": environment} for service, command in services]
    urls = {"front": "http://localhost:${port:front}", "front-tls": "https://localhost:${port:front-tls}"}
    if asked is None:
        call = f"{BUILD}/tests/http2/calls_client"
        client = (f"{call} ${{port:front}} kinds; {call} ${{port:front}} threads 4 50 20000; export TLS={tls}; "
                  f"{call} ${{port:front-tls}} kinds; {call} ${{port:front-tls}} threads 4 50 20000")
    else:
        given = " ".join(url for port, url in urls.items() if any(port in each for each in ports.values()))
        client = f"export CURL_CA_BUNDLE={tls}/ca.pem; for URL in {given}; do {asked.removeprefix('BACK ')}\ndone"
        if name.startswith("apache2"):
            client += until_closed(*(port for port in urls if any(port in each for each in ports.values())))
    check_unnoticed(project, Program(([] if asked is None else [echo]) + made, client), fields=asked is not None)
