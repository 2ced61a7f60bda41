"""`fanout.py PORT NUMBER BACK`: for every request, GETs BACK/0, BACK/1, ... at once, each in a thread of its own. Answers 500
where exactly the first and the last of them failed, 503 where others did."""
import http.server
import sys
import threading
import urllib.request

NUMBER, BACK = int(sys.argv[2]), sys.argv[3]


def ask(number, failed):
    try:
        urllib.request.urlopen(f"{BACK}/{number}", timeout=30).read()
    except OSError:
        failed.add(number)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        failed = set()
        threads = [threading.Thread(target=ask, args=(number, failed)) for number in range(NUMBER)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.send_response(200 if not failed else 500 if failed == {0, NUMBER - 1} else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
