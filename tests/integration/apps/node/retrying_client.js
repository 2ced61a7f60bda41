// retrying_client.js URL METHOD [ID]: fetch with a loop of the application, five attempts without a wait between them.
// Prints the status, or the error's name. PATIENCE: how many seconds it waits for an answer. With ID, each call carries a request id.
const [url, method, withId] = process.argv.slice(2);
const headers = {'x-run': process.env.FILIBUSTER_EXECUTION};
if (withId) headers['x-ms-client-request-id'] = require('crypto').randomUUID();

async function attempt() {
  const answer = await fetch(url, {method, headers, body: method === 'GET' ? undefined : '1', signal: AbortSignal.timeout(1000 * (process.env.PATIENCE || 30))});
  await answer.text();
  return answer.status;
}

async function main() {
  let last;
  for (let i = 0; i < 5; ++i) {
    try {
      last = await attempt();
      if (last !== 503) break;
    } catch (error) {
      last = error.name;
    }
  }
  console.log(last);
}
main();
