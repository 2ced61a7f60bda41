"""expiring_token.py PORT: GET /token/N says whether a token that expires N seconds after 1970 is valid, which day it is, and how many minutes local time is ahead."""
import datetime
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        valid = time.time() < int(self.path.rsplit("/", 1)[1])
        now = datetime.datetime.now().astimezone()
        day, ahead = now.astimezone(datetime.timezone.utc).date(), now.utcoffset() // datetime.timedelta(minutes=1)
        body = json.dumps({"valid": valid, "day": day.isoformat(), "ahead": ahead}).encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
