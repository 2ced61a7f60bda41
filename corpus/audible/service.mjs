// What the services of this application share: an HTTP server, a client with a timeout, and refusals.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { pathToFileURL } from "node:url";

// Ends a request with a status other than 200.
export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

// Asks `url` and gives {status, text}; refuses with 503 when no answer comes within `timeout` ms.
export function ask(url, timeout, method = "GET") {
  return new Promise((resolve, reject) => {
    const unavailable = () => reject(new Refusal(503, `no answer from ${new URL(url).pathname}`));
    const { request: begin } = url.startsWith("https:") ? https : http;
    const request = begin(url, { method, agent: false, timeout }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => (text += piece));
      response.on("error", unavailable);
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    request.on("error", unavailable);
    request.end();
  });
}

// Refuses with the status of `answer` if that is one of `expected`, with 500 if it is any other but 200.
export function demand(answer, expected = []) {
  if (expected.includes(answer.status)) throw new Refusal(answer.status, answer.text);
  if (answer.status !== 200) throw new Refusal(500, `unexpected status ${answer.status}`);
  return answer.text;
}

// A listener that answers with what `handler(path segments, method)` gives: text, or [status, text].
export function listener(handler) {
  return async (request, response) => {
    const segments = request.url.split("/").slice(1);
    let status, text;
    try {
      const given = request.url === "/health" ? "" : await handler(segments, request.method);
      [status, text] = typeof given === "string" ? [200, given] : given;
    } catch (error) {
      // What nobody expected is an internal error.
      [status, text] = error instanceof Refusal ? [error.status, error.message] : [500, String(error)];
    }
    response.writeHead(status, { "Content-Length": Buffer.byteLength(text) }).end(text);
  };
}

// Serves `handler` on the port of the command line if `module` is the program (and not under test); over TLS if the
// environment names a certificate.
export function serve(module, handler) {
  if (module !== pathToFileURL(process.argv[1]).href) return;
  const { TLS_CERTIFICATE, TLS_KEY } = process.env;
  const server = TLS_CERTIFICATE
    ? https.createServer({ cert: fs.readFileSync(TLS_CERTIFICATE), key: fs.readFileSync(TLS_KEY) }, listener(handler))
    : http.createServer(listener(handler));
  server.listen(Number(process.argv[2]), "127.0.0.1");
}
