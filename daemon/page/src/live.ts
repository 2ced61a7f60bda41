// The page of a running exploration: asks the daemon that it came from, until the exploration ends.
import type { Summary } from "./data";
import { change, current, take, takeExecutions, type Live } from "./store";

const keptLines = 6;

// The token stands in the fragment, which the browser sends nowhere. It is taken out of the address, so that
// nobody copies it with a permalink; a reload finds it in the storage of this tab.
function takeToken(): string {
  const address = new URLSearchParams(location.hash.slice(1));
  const token = address.get("token");
  if (token) {
    sessionStorage.setItem("token", token);
    address.delete("token");
    history.replaceState(null, "", `#${address}`);
    return token;
  }
  return sessionStorage.getItem("token") ?? "";
}

class Refused extends Error {}

export async function follow() {
  const token = takeToken();
  const live = (part: Partial<Live>) => change({ live: { ...current().live!, ...part } });
  change({ live: { state: "connecting", progress: new Map(), tries: [], until: null, lines: [], report: "" } });

  const ask = async (path: string): Promise<Response> => {
    const answer = await fetch(path, { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
    if (answer.status === 401 || answer.status === 403) throw new Refused();
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer;
  };
  const pause = () => new Promise((resolve) => setTimeout(resolve, 500));

  let done = false;
  const followEvents = async (session: string) => {
    for (let next = 0; !done; ) {
      const news = await (await ask(`/v1/sessions/${session}/progress?after=${next}`)).json();
      next = news.next;
      for (const event of news.events) take1(event, live);
      live({ tries: news.tries, until: news.seconds_left === null ? null : Date.now() + 1000 * news.seconds_left });
      done = news.state === "done";
    }
  };
  let version = 0;
  const followPage = async (session: string) => {
    while (!done) {
      const answer = await ask(`/v1/sessions/${session}/page?after=${version}`);
      version = Number(answer.headers.get("Filibuster-Version") ?? version);
      if (answer.status === 204) continue;
      const summary = (await answer.json()) as Summary;
      take(summary);
      if (summary.state !== "done") continue;
      takeExecutions(await (await ask(`/v1/sessions/${session}/executions`)).text());
      return;
    }
  };

  try {
    let session: string | null = null;
    while (!session) {
      session = (await (await ask("/v1/status")).json()).session;
      if (!session) await pause();
    }
    live({ state: "running" });
    await Promise.all([followEvents(session), followPage(session)]);
    live({ state: "done" });
  } catch (problem) {
    if (problem instanceof Refused) live({ state: "refused" });
    else live({ state: current().summary?.state === "done" ? "done" : "lost" });
  }
}

// One event of docs/api.md.
function take1(event: Record<string, any>, live: (part: Partial<Live>) => void) {
  const add = (line: string) => live({ lines: [...current().live!.lines, line].slice(-keptLines) });
  switch (event.type) {
    case "execution":
      live({
        progress: new Map(current().live!.progress).set(event.test, {
          executed: event.executed,
          open: event.open,
          rate: event.rate,
          eta: event.open > 0 ? event.eta_seconds : 0,
        }),
      });
      break;
    case "service":
      add(`service ${event.name} ${event.state}${event.detail ? `: ${event.detail}` : ""}`);
      break;
    case "session":
      add(`${event.resumed ? "continuing" : "exploring"} ${event.test}`);
      break;
    case "warning":
    case "error":
      add(`${event.type}: ${event.text}`);
      break;
    case "done":
      live({ report: event.page ?? "" });
      break;
  }
}
