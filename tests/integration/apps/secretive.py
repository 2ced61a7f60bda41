"""Two services of the integration tests that handle secrets; all of them stand in a file of JSON, by name.

secretive.py back PORT SECRETS          answers with an account full of secrets
secretive.py front PORT SECRETS URL     asks it, with secrets in path, query, header and body, and answers with what it says;
                                        where that fails it answers 500 with what it had sent
"""
import http.client
import http.server
import json
import sys
import urllib.parse

SECRETS = json.load(open(sys.argv[3]))
ACCOUNT = {"user": "ada", "password": SECRETS["body password"], "jwt": SECRETS["body jwt"],
           "card": SECRETS["body card"], "nested": [{"client_secret": SECRETS["body nested"]}],
           "note": f"charged {SECRETS['body spaced card']} by Bearer {SECRETS['body bearer']}"}


def ask(url):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=1)
    body = json.dumps({"password": SECRETS["request password"], "jwt": SECRETS["request jwt"]}).encode()
    connection.putrequest("POST", f"/accounts/{SECRETS['path jwt']}?item=7&" + "&".join(
        f"{name}={SECRETS[f'query {name}']}" for name in ("key", "api_key", "sig", "code", "auth", "session")))
    connection.putheader("Authorization", f"Bearer {SECRETS['header bearer']}")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise OSError(f"status {response.status}")
    return text


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, answer = 200, json.dumps(ACCOUNT).encode()
        if sys.argv[1] == "front":
            try:
                answer = ask(sys.argv[4])
            except (OSError, http.client.HTTPException) as problem:
                status, answer = 500, json.dumps({"problem": str(problem), **ACCOUNT}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
