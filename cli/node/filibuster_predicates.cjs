// Fault injection predicates for functional tests in Node 18 and later. One file, no packages: copy it.
//
//   const { wasFaultInjected } = require("./filibuster_predicates.cjs");
//
//   const expected = (await wasFaultInjected({ service: "movies" })) ? 503 : 200;
//
// Under `filibuster run` the daemon is asked about the running execution. Otherwise nothing is ever
// injected, and the answer is false.
"use strict";
const http = require("node:http");

const kTimeoutMs = 30_000;

// Was a fault injected in the running execution, into an RPC to `service` with `method` and `path` ('*' and
// '?' match), and is it `fault` ("refused", "status:503", "grpc:UNAVAILABLE", ...)? What is absent matches
// anything. `grpc` is a gRPC method as in "shop.CartService/GetCart", or its service alone; `arguments`
// are fields of its request, as in {code: "DAILY"}.
// Rejects if the daemon does not answer, or does not understand the question: a guess would make the
// test's verdict worthless.
function wasFaultInjected({ service, method, path, fault, grpc, arguments: fields } = {}) {
  const url = process.env.FILIBUSTER_URL;
  if (!url) return Promise.resolve(false);
  const asked = { service, method, path, fault, grpc, arguments: fields && JSON.stringify(fields) };
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== undefined && value !== null));
  const headers = { Authorization: `Bearer ${process.env.FILIBUSTER_TOKEN ?? ""}` };
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`filibuster's daemon did not answer: ${why}`));
    // An agent of its own: a proxy or the keep-alive of the application's does not concern this call.
    const request = http.get(`${url}/v1/fault-injected?${query}`, { headers, agent: false, timeout: kTimeoutMs }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => { text += part; });
      response.on("error", (error) => fail(error.message));
      response.on("end", () => {
        if (response.statusCode !== 200) return fail(text);
        try {
          const { injected } = JSON.parse(text);
          return typeof injected === "boolean" ? resolve(injected) : fail(text);
        } catch {
          return fail(text);
        }
      });
    });
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.on("error", (error) => fail(error.message));
  });
}

module.exports = { wasFaultInjected };
