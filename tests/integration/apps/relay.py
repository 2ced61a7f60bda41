"""A service of the integration tests: calls each of its dependencies in turn, and the URL `to` of the query if there is one,
then answers 200.

relay.py PORT [--call URL]... what failing calls lead to: [--on-failure answer503|answer500|ignore|drop|abort|segv|exit]
[--tolerate N failing calls] [--timeout S, 0: none] [--again: a failed call is made a second time]
[--lingers: it closes its connections first, and does not set SO_REUSEADDR]
[--reads-failures: it reads the JSON of an answer that is a failure, and answers 500 where it is none]
[--dated: its answers to failures say when] [--tls DIRECTORY: it serves with cert.pem and key.pem of it]
"""
import argparse
import http.client
import http.server
import json
import os
import signal
import time
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--call", action="append", default=[])
parser.add_argument("--on-failure", default="answer503")
parser.add_argument("--tolerate", type=int, default=0)
parser.add_argument("--timeout", type=float, default=1.0)
parser.add_argument("--again", action="store_true")
parser.add_argument("--lingers", action="store_true")
parser.add_argument("--reads-failures", action="store_true")
parser.add_argument("--dated", action="store_true")
parser.add_argument("--tls")
parser.add_argument("--heartbeat", help="URL that is called from a thread of its own, all the time")
options = parser.parse_args()


def call(url):
    """Did the call succeed?"""
    parts = urllib.parse.urlsplit(url)
    made = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = made(parts.netloc, timeout=options.timeout or None)
    try:
        connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""))
        response = connection.getresponse()
        body = response.read()
        if options.reads_failures and response.status >= 400:
            json.loads(body)["failed"]
        return response.status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def fail():
    if options.on_failure == "abort":
        os.abort()
    if options.on_failure == "segv":
        print("about to crash", flush=True)
        signal.raise_signal(signal.SIGSEGV)
    if options.on_failure == "exit":
        os._exit(7)
    if options.on_failure == "drop":
        raise ConnectionError("the caller gets no answer")
    return {"answer503": 503, "answer500": 500, "ignore": 200}[options.on_failure]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        failed = 0
        try:
            for url in options.call + urllib.parse.parse_qs(self.path.partition("?")[2]).get("to", []):
                good = call(url)
                if not good and options.again:
                    good = call(url)
                failed += not good
            status = fail() if failed > options.tolerate else 200
        except ValueError:
            status = 500
        said = {"failed": failed} | ({"when": time.time()} if options.dated and status != 200 else {})
        body = json.dumps(said).encode() + b"\n"
        self.send_response(status)
        if options.lingers:  # only the end of the connection ends the answer
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer.allow_reuse_address = not options.lingers
server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
if options.tls:
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.tls + "/cert.pem", options.tls + "/key.pem")
    # The handshake is made by the thread of the connection.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
if options.heartbeat:
    import threading

    def beat():
        while True:
            call(options.heartbeat)
            time.sleep(0.005)
    call(options.heartbeat)  # seen before any request is
    threading.Thread(target=beat, daemon=True).start()
server.serve_forever()
