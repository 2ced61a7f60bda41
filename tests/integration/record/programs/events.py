"""Server-sent events: a service that passes on what another one tells, event by event, and with a trailer behind the last one.

    events.py pricing PORT    events.py orders PORT PRICING [drop]
"""
import http.client
import http.server
import sys
import time

PAUSE = 0.2  # seconds: what is recorded as a part by itself, also on a busy machine


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        count = 0
        for event in self.server.events():
            count += 1
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\nX-Count: %d\r\n\r\n" % count)


def told():
    for number in range(3):
        time.sleep(PAUSE)
        yield b"data: %d\n\n" % number


def passed_on(address, drops):
    connection = http.client.HTTPConnection(address)
    connection.request("GET", "/events", headers={"Accept": "text/event-stream"})
    answer = connection.getresponse()
    while line := answer.readline():
        if line.startswith(b"data:") and not (drops and b"1" in line):
            yield b"data: saw %s\n\n" % line[5:].strip()
    connection.close()


def main():
    role, port, *rest = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.events = told if role == "pricing" else lambda: passed_on(rest[0], rest[1:] == ["drop"])
    server.serve_forever()


main()
