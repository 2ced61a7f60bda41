"""An HTTP/1.1 server that answers with the head that it received and a digest of the body: echo.py PORT TLS_PORT DIRECTORY (of cert.pem
and key.pem) FIELDS. The first field of ours in a head goes to the file FIELDS in place of the answer, so that answers are as long as
without it."""
import hashlib
import socketserver
import ssl
import sys
import threading


class Handler(socketserver.StreamRequestHandler):
    wbufsize = -1

    def handle(self):
        try:
            while self.answer():
                pass
        except OSError:
            pass

    def body(self, head):
        fields = {line.split(b":", 1)[0].lower(): line.split(b":", 1)[1].strip() for line in head[1:]}
        if fields.get(b"expect", b"").lower() == b"100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        if fields.get(b"transfer-encoding", b"").lower() != b"chunked":
            return self.rfile.read(int(fields.get(b"content-length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def answer(self):
        head = []
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            head.append(line)
        if not head:
            return False
        body = self.body(head)
        ours = [line for line in head if line.lower().startswith(b"x-filibuster:")]
        if ours:
            head.remove(ours[0])
            with open(sys.argv[4], "ab") as file:
                file.write(ours[0])
        text = b"".join(head) + b"%d %s\n" % (len(body), hashlib.sha256(body).hexdigest().encode())
        status = b"404 Not Found" if b" /absent" in head[0] else b"200 OK"
        self.wfile.write(b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (status, len(text)))
        if not head[0].startswith(b"HEAD "):
            self.wfile.write(text)
        self.wfile.flush()
        return b"HTTP/1.1" in head[0] and not any(line.lower().startswith(b"connection: close") for line in head)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 64


class OverTls(Server):
    def finish_request(self, request, client_address):
        try:
            with self.context.wrap_socket(request, server_side=True) as encrypted:
                super().finish_request(encrypted, client_address)
        except OSError:
            pass


encrypted = OverTls(("127.0.0.1", int(sys.argv[2])), Handler)
encrypted.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
encrypted.context.load_cert_chain(f"{sys.argv[3]}/cert.pem", f"{sys.argv[3]}/key.pem")
threading.Thread(target=encrypted.serve_forever, daemon=True).start()
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
