#!/usr/bin/python3
"""Stands in for filibusterd: serves docs/api.md from a script of events, and records what it is asked.

FAKE_DAEMON names a JSON file:
  {"create": [status, body], "events": [...], "exit_code": N, "hold": true, "refuse_start": "text"}
hold: the session is done only after POST .../stop. Requests go to ROOT/requests.jsonl.
"""
import argparse
import http.server
import json
import os
import sys
import threading
import urllib.parse


def start_time():
    with open("/proc/self/stat") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[19])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--ready-fd", type=int)
    parser.add_argument("--exit-with-client", action="store_true")
    options = parser.parse_args()
    with open(os.environ["FAKE_DAEMON"]) as file:
        script = json.load(file)
    if "refuse_start" in script:
        sys.exit(script["refuse_start"])
    os.makedirs(options.root, exist_ok=True)
    stopped = threading.Event()
    log = open(options.root + "/requests.jsonl", "a", buffering=1)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def handle_any(self):
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"null")
            url = urllib.parse.urlsplit(self.path)
            log.write(json.dumps([self.command, self.path, body]) + "\n")
            if self.headers.get("Authorization") != "Bearer secret":
                return self.answer(401, {})
            if url.path == "/v1/status":
                return self.answer(200, {"version": 1, "session": None})
            if url.path == "/v1/sessions":
                return self.answer(*script.get("create", [201, {"id": "7", "tests": ["t"]}]))
            if url.path.endswith("/stop"):
                stopped.set()
                return self.answer(200, {})
            if url.path.endswith("/progress"):
                return self.progress(int(urllib.parse.parse_qs(url.query)["after"][0]))
            if url.path.endswith("/report") and "report" in script:
                return self.answer(200, script["report"])
            if url.path == "/v1/fault-injected":
                asked = urllib.parse.parse_qs(url.query)
                if "refuse" in asked.get("fault", []):
                    return self.answer(400, {"errors": [{"message": "'refuse' is not a fault"}]})
                return self.answer(200, {"injected": asked.get("service") == ["bookings"], "faults": []})
            if url.path == "/v1/shutdown":
                self.answer(200, {})
                threading.Thread(target=server.shutdown).start()
                return None
            return self.answer(404, {})

        def progress(self, after):
            events = script.get("events", [])
            hold = script.get("hold", False)
            if hold and after >= len(events):
                stopped.wait(1)
            done = stopped.is_set() or not hold
            self.answer(200, {"events": events[after:], "next": len(events),
                              "state": "done" if done else "running",
                              "exit_code": script.get("exit_code", 0) if done else None})

        do_GET = do_POST = handle_any

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    address = {"version": 1, "pid": os.getpid(), "start_time": start_time(),
               "url": "http://127.0.0.1:%d" % server.server_port, "token": "secret"}
    with open(options.root + "/daemon.json.new", "w") as file:
        json.dump(address, file)
    os.rename(options.root + "/daemon.json.new", options.root + "/daemon.json")
    if options.ready_fd is not None:
        os.write(options.ready_fd, b"\n")
        os.close(options.ready_fd)
    server.serve_forever()
    os.unlink(options.root + "/daemon.json")


main()
