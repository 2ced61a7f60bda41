// The progress of a running exploration: one number, the time that is left, and what is being tried now.
import { useEffect, useState } from "preact/hooks";
import { oneLine } from "../parts";
import type { Live, Progress } from "../store";

const second = 1000;

const words: Record<Live["state"], string> = {
  connecting: "waiting for a session \u2026",
  running: "running",
  done: "ended: this is the report",
  lost: "the daemon has ended: what was seen until then stands below",
  refused: "the daemon refuses the token of this address: open the address that the running command prints",
};

export function LiveLine({ live }: { live: Live }) {
  const running = live.state === "running";
  return (
    <section class="live" aria-label="Progress">
      <p role="status"><b class={`state ${live.state}`}>{running ? "\u25cf live" : "\u25cb"}</b> {words[live.state]}
        {live.report && <> {"\u00b7"} written to <code>{oneLine(live.report)}</code>, which opens without a server</>}</p>
      {running && <Numbers live={live} />}
      {running && live.tries.slice(0, 4).map(({ test, what }) => (
        <p class="trying clip" title={oneLine(what)}><span class="quiet">trying now{live.tries.length > 1 && ` in ${oneLine(test)}`}:</span> {oneLine(what)}</p>
      ))}
      {live.state !== "done" && live.lines.slice(-2).map((line) => <p class="quiet clip">{oneLine(line)}</p>)}
    </section>
  );
}

// Over the tests that have begun.
export function share(progress: Progress[]): { executed: number; whole: number; percent: number } {
  const executed = progress.reduce((all, row) => all + row.executed, 0);
  const whole = executed + progress.reduce((all, row) => all + row.open, 0);
  return { executed, whole, percent: whole === 0 ? 0 : Math.floor((100 * executed) / whole) };
}

function Numbers({ live }: { live: Live }) {
  const progress = [...live.progress.values()];
  const { executed, whole, percent } = share(progress);
  const rate = progress.reduce((all, row) => Math.max(all, row.rate), 0);
  const estimate = Math.max(0, ...progress.map((row) => row.eta));
  return (
    <p class="numbers">
      <b class="percent">{percent} %</b>{" "}
      <progress max={whole || 1} value={executed} aria-label="executed" />{" "}
      {live.until !== null ? <TimeLeft until={live.until} /> : estimate > 0 ? <span>about {clock(estimate)} left</span> : null}
      <span class="quiet"> {executed.toLocaleString("en")} of {whole.toLocaleString("en")} executions known so far{rate > 0 && `, ${rate.toFixed(rate < 10 ? 1 : 0)}/s`}</span>
    </p>
  );
}

// Counts down by itself between two answers of the daemon.
function TimeLeft({ until }: { until: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), second);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(0, until - now) / second;
  return <span class="time-left">{left > 0 ? <>{clock(left)} left <span class="quiet">(--max-time)</span></> : "the time is over"}</span>;
}

// 75 -> "1:15"
function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
