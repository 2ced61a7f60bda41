// The client of corpus/job-queue in JavaScript.
import { Client, Fail, Info, run } from "./filibuster_property.cjs";

const WEB = process.env.WEB_URL;
const TIMEOUT = 10_000; // milliseconds

const ask = (path, options) => fetch(`${WEB}${path}`, { ...options, signal: AbortSignal.timeout(TIMEOUT) });

class JobQueue extends Client {
  async write(value) {
    const response = await ask("/", { method: "POST", body: value });
    const body = await response.text();
    if (response.status === 503) throw new Fail(`503: ${body}`); // the service has seen to it that nothing is stored
    if (response.status !== 200) throw new Info(`${response.status}: ${body}`);
    console.log(`job ${body}`);
    return Number(body);
  }

  async read(value) {
    const response = await ask(`/${value}`);
    const body = await response.text();
    if (response.status === 404) return null;
    if (response.status !== 200) throw new Fail(response.status);
    return body;
  }

  async reset() {
    const response = await ask("/reset", { method: "POST" });
    if (response.status !== 204) throw new Error(`the service was not reset: ${response.status}`);
  }
}

run(new JobQueue());
