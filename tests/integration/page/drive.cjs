// Opens a page in Chromium and runs the body of a function on it, which comes from standard input:
//
//   node drive.cjs MODULES ADDRESS OPTIONS     OPTIONS: {"scheme", "width", "height", "script", "media"}
//
// Prints {"result", "requests", "console", "errors"} as JSON: what the body returned, the requests that were no
// file, what was written to the console, and exceptions. In the body: `page`, `context`, `axe()`, which returns
// the violations, and `memory()`, the private bytes of the page's process.
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, address, options_text] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));
const axe_source = fs.readFileSync(path.join(modules, "axe-core", "axe.min.js"), "utf8");
const options = JSON.parse(options_text || "{}");
const body = fs.readFileSync(0, "utf8");

// The renderers are children of children of the browser. The page's is the largest of them.
function privateBytesOfLargestRenderer(browser_pid) {
  const parents = new Map();
  for (const name of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const status = fs.readFileSync(`/proc/${name}/status`, "utf8");
      const command = fs.readFileSync(`/proc/${name}/cmdline`, "utf8");
      parents.set(Number(name), {
        parent: Number(/^PPid:\s+(\d+)/m.exec(status)[1]),
        bytes: 1024 * Number((/^RssAnon:\s+(\d+)/m.exec(status) || [0, 0])[1]),
        renders: command.includes("--type=renderer"),
      });
    } catch { /* it has ended */ }
  }
  const below = (pid) => pid === browser_pid || (parents.has(pid) && parents.get(pid).parent > 1 && below(parents.get(pid).parent));
  let most = 0;
  for (const [pid, row] of parents) if (row.renders && below(pid)) most = Math.max(most, row.bytes);
  return most;
}

(async () => {
  const server = await chromium.launchServer({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const browser = await chromium.connect(server.wsEndpoint());
  const context = await browser.newContext({
    viewport: { width: options.width || 1280, height: options.height || 900 },
    colorScheme: options.scheme || "light",
    javaScriptEnabled: options.script !== false,
  });
  const page = await context.newPage();
  const requests = [], lines = [], errors = [];
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) requests.push(`${request.method()} ${request.url()}`); });
  page.on("console", (message) => lines.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => errors.push(String(error)));
  if (options.media) await page.emulateMedia({ media: options.media });
  const axe = async () => {
    // The policy of the page lets no script in: axe comes by the debugger, in a world of its own.
    const session = await context.newCDPSession(page);
    const { frameTree } = await session.send("Page.getFrameTree");
    const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
    const run = async (expression) => {
      const answer = await session.send("Runtime.evaluate", { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
      if (answer.exceptionDetails) throw new Error(JSON.stringify(answer.exceptionDetails));
      return answer.result.value;
    };
    await run(`${axe_source}; undefined`);
    return run(`axe.run(document).then((found) => found.violations.map((row) => row.id + ": " + row.nodes.map((node) => node.html.slice(0, 200)).slice(0, 3).join(" | ")))`);
  };
  let code = 0;
  try {
    if (address !== "-") await page.goto(address, { waitUntil: "commit" });
    const AsyncFunction = (async () => {}).constructor;
    const result = await new AsyncFunction("page", "context", "axe", "memory", "require", body)(page, context, axe, () => privateBytesOfLargestRenderer(server.process().pid), require);
    process.stdout.write(JSON.stringify({ result, requests, console: lines, errors }));
  } catch (error) {
    process.stderr.write(`${error.stack}\n${lines.join("\n")}\n${errors.join("\n")}\n`);
    code = 1;
  }
  await browser.close();
  await server.close();
  process.exitCode = code;
})();
