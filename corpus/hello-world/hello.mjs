// Hello: answers GET /hello?n=N with what World says to N names. The requests are in flight together,
// issued by the one event loop.
import http from "node:http";

const WORLD = process.env.WORLD_URL;
const TIMEOUT = 5000; // ms
const MOST = 1000; // requests to World for one of ours

function askWorld(name) {
  return new Promise((resolve, reject) => {
    const request = http.get(`${WORLD}/world?name=${name}`, { agent: false, timeout: TIMEOUT }, (response) => {
      let text = "";
      response.on("data", (piece) => (text += piece));
      response.on("error", reject);
      response.on("end", () => (response.statusCode === 200 ? resolve(text) : reject(new Error("status"))));
    });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    request.on("error", reject);
  });
}

async function hello(n) {
  const names = Array.from({ length: n }, (_, i) => i + 1);
  const answers = await Promise.allSettled(names.map(askWorld));
  if (answers.some((answer) => answer.status === "rejected")) return [503, "world is unavailable"];
  return [200, answers.map((answer) => answer.value).join("\n")];
}

const server = http.createServer(async (request, response) => {
  const target = new URL(request.url, "http://hello");
  const n = Math.min(MOST, Number(target.searchParams.get("n") ?? 2));
  const [status, text] = target.pathname === "/health" ? [200, ""] : await hello(n);
  response.writeHead(status, { "Content-Length": Buffer.byteLength(text) }).end(text);
});
server.listen(Number(process.argv[2]), "127.0.0.1");
