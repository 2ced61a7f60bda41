// Lints and notes.
import { counted, List, most, oneLine, Source } from "../parts";
import { shortFrame } from "../callsites";
import { type Lint, PHASES, type Test } from "../data";
import type { State } from "../store";

function times(test: Test): string[] {
  const { profile, start, lanes } = test;
  if (profile.executions === 0) return [];
  const rows: string[] = PHASES.map((phase) => `${phase === "rpcs" ? "RPCs" : phase}: ${(1000 * profile.median[phase]).toFixed(2)} ms, ${profile.total[phase].toFixed(2)} s`);
  const reason = start.why_not_reset ? `not reset: ${start.why_not_reset}` : start.why_not_forked;
  const why = reason ? ` (${reason})` : "";
  rows.push(`the tests were started: ${start.way}${why}; on ${counted(lanes.used, "lane")}${lanes.not_needed > 0 ? `, ${counted(lanes.not_needed, "execution")} ran ahead and not needed` : ""}`);
  return rows;
}

// The call sites of each lint, each once, and whether its source stands there: a line that several lints name shows it at the first.
function sitesOf(lints: Lint[]): { site: string; first: boolean }[][] {
  const shown = new Set<string>();
  return lints.map(({ call_sites }) =>
    [...new Set(call_sites.filter((site) => site))].slice(0, 3).map((site) => {
      const line = site.replace(/ \(.*\)$/, "");
      const first = !shown.has(line);
      shown.add(line);
      return { site, first };
    }),
  );
}

export function LintsView({ state }: { state: State }) {
  const tests = state.summary!.tests;
  const lints = tests.flatMap((test) => test.lints).slice(0, most);
  const sites = sitesOf(lints);
  return (
    <section>
      <h2>How the calls are made</h2>
      <p class="quiet">From the reference execution alone; <code>filibuster lint</code> probes timeouts and retries, too.</p>
      {tests.every((test) => test.lints.length === 0) && <p>No lint.</p>}
      {lints.map((lint, i) => (
        <article class="lint">
          <h3><span class={`severity ${lint.severity}`}>{lint.severity}</span> {lint.lint}</h3>
          <p>{oneLine(lint.text)}</p>
          {sites[i]!.map(({ site, first }) => <><p><code>{oneLine(shortFrame(site))}</code>{!first && " (its source stands above)"}</p>{first && <Source frame={site} />}</>)}
          <p class="quiet">{oneLine(lint.help)}</p>
        </article>
      ))}
    </section>
  );
}

export function NotesView({ state }: { state: State }) {
  return (
    <>
      {state.summary!.tests.map((test) => (
        <section>
          <h2>{oneLine(test.test)}</h2>
          <p>{counted(test.counts.executed, "execution")}, {test.counts.redundant} redundant, {test.counts.open} open, {test.counts.abandoned} without a conclusion{test.finished ? "" : ", not finished"}.</p>
          <List title="The application changed during the exploration" rows={test.reference_again.drifts.flatMap(({ what, after }) => what.map((one) => `without faults, ${one} (since execution ${after + 1} at the earliest)`))} />
          <List title="Faults that were injected" rows={test.fault_configuration} />
          <List title="Not explored" rows={test.skipped.map(({ what, reason }) => `${what}: ${reason}`)} />
          <List title="Executions without a conclusion, by cause" rows={test.unexplained.map(({ cause, executions, advice }) => `${cause} (${counted(executions, "execution")}): ${advice}`)} />
          <List title="Dependencies that were not tested" rows={test.dependencies_not_tested.map((row) => `${row.service} ${row.outgoing ? "\u2192" : "\u2190"} ${row.target_service || row.peer}: ${row.reason} (${counted(row.times, "time")})`)} />
          <List title="RPCs that were never faulted" rows={test.without_cause} />
          <List title="Timeouts that were injected" rows={test.timeouts.map((row) => `${row.caller} \u2192 ${row.service}: ${row.elapsed} ended at once, ${row.waited} waited for, ${row.hang_limit} until the hang limit`)} />
          <List title="Where the time of an execution goes (median, in all)" rows={times(test)} />
          <List title="What varied by itself" rows={test.nondeterminism.varied.map((row) => `${row.rpc}: ${row.what}, ${row.effect}${row.reason && row.reason !== row.what ? ` (${row.reason})` : ""}${row.under ? ` under ${row.under}` : ""}`)} />
          <List title="Notes" rows={test.notes} />
        </section>
      ))}
      <section><h2>This report</h2><p>Configuration <code>{oneLine(state.summary!.config || "from the command line")}</code>, session {state.summary!.session}, exit code {state.summary!.exit_code}.</p></section>
    </>
  );
}
