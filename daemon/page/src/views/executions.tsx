// Every execution, in the order in which they ran, with one outcome for each RPC.
import { useMemo } from "preact/hooks";
import { callWords, type Executions as Columns, type Test } from "../data";
import { unexpected } from "../expected";
import { CallName, counted, duration, oneLine, Verdict } from "../parts";
import { go, type State } from "../store";
import { VirtualRows } from "../virtual";
import { Sequence } from "./sequence";

const rowHeight = 28;
const mostCells = 60; // RPCs of the strip of one execution
const noMarks = new Map<never, never>();

export function ExecutionsView({ state }: { state: State }) {
  if (state.summary!.state === "running") return <section class="nothing"><h2>Executions</h2><p>They are listed when the exploration has ended.</p></section>;
  if (!state.executions) return <section class="nothing"><p>reading …</p></section>;
  return <>{state.summary!.tests.map((test, place) => <OneTest key={test.test} state={state} test={test} place={place} columns={state.executions![place]!} />)}</>;
}

// Not as in the reference execution, and an error.
function bad(test: Test, call: number, outcome: number): boolean {
  const { words = "", failed = false } = test.outcomes[outcome] ?? {};
  return unexpected(test, { call, outcome: words, failed });
}

function faultWords(test: Test, columns: Columns, row: number): string {
  return columns.faultsOf(row).map(([call, fault]) => `${callWords(test.calls[call])}: ${test.outcomes[fault]?.text}`).join(" + ");
}

function OneTest({ state, test, columns }: { state: State; test: Test; place: number; columns: Columns }) {
  const { text, service, fault, verdict } = state.filter;
  const verdicts = state.summary!.verdicts;
  const rows = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    const out: number[] = [];
    for (let row = 0; row < columns.size; ++row) {
      if (verdict && verdicts[columns.verdict[row]!] !== verdict) continue;
      const faults = service || fault ? columns.faultsOf(row) : [];
      if (service && !faults.some(([call]) => test.calls[call]?.service === service || test.calls[call]?.caller === service)) continue;
      if (fault && !faults.some(([, place]) => test.outcomes[place]?.text === fault)) continue;
      if (wanted && !`${columns.number[row]} ${faultWords(test, columns, row)}`.toLowerCase().includes(wanted)) continue;
      out.push(row);
    }
    return out;
  }, [columns, text, service, fault, verdict]);
  const here = state.execution ? rows.findIndex((row) => columns.number[row] === state.execution) : -1;
  return (
    <section>
      <h2>{counted(columns.size, "execution")}{state.summary!.tests.length > 1 ? `: ${oneLine(test.test)}` : ""}</h2>
      <p class="quiet">{rows.length < columns.size ? `${counted(rows.length, "execution")} match the filter. ` : ""}Of each there is the outcome of every RPC; the reference execution and those of findings have their times, too.
        {test.executions_left_out > 0 && ` ${counted(test.executions_left_out, "more execution")} are not in this page: the matrix counts them.`}</p>
      <VirtualRows className="executions" label="Executions" role="list" count={rows.length} height={rowHeight} focus={here}
        row={(at, top) => {
          const row = rows[at]!;
          const number = columns.number[row]!;
          return (
            <div role="listitem" class={number === state.execution ? "execution here" : "execution"} style={{ top: `${top}px` }}>
              <a class="number" href={`#view=executions&execution=${number}`} onClick={(event) => { event.preventDefault(); go({ execution: number }, true); }}>{number}</a>
              <Verdict verdict={verdicts[columns.verdict[row]!] ?? "?"} />
              <span class="took">{duration(columns.ms[row]!)}</span>
              <span class="strip" aria-hidden="true">{columns.rpcsOf(row).slice(0, mostCells).map(([call, outcome]) => <i class={bad(test, call, outcome) ? "bad" : "good"} />)}</span>
              <span class="clip" title={oneLine(faultWords(test, columns, row))}>{oneLine(faultWords(test, columns, row))}</span>
            </div>
          );
        }} />
      {here >= 0 && <One state={state} test={test} columns={columns} row={rows[here]!} />}
      {test.reference && test.reference.length > 0 && (
        <details class="reference">
          <summary>The reference execution, {counted(test.reference.length, "RPC")}</summary>
          <Sequence test={test} rows={test.reference} marks={noMarks} title="Reference execution" />
        </details>
      )}
    </section>
  );
}

function One({ state, test, columns, row }: { state: State; test: Test; columns: Columns; row: number }) {
  const passed = state.summary!.verdicts[columns.verdict[row]!] === "passed";
  const reference = new Map((test.reference ?? []).map((one) => [one.call, one.outcome]));
  const faults = new Map(columns.faultsOf(row));
  const number = columns.number[row]!, tree = test.trees[number];
  const finding = test.findings.find((one) => one.execution === number);
  return (
    <article class="one">
      <h3>Execution {number}</h3>
      {finding && <p><a href={`#finding=${finding.id}`} onClick={(event) => { event.preventDefault(); go({ view: "findings", finding: finding.id }); }}>{oneLine(finding.headline)}</a></p>}
      <table class="figures">
        <thead><tr><th scope="col">RPC</th><th scope="col">reference execution</th><th scope="col">this execution</th></tr></thead>
        <tbody>
          {columns.rpcsOf(row).slice(0, 1000).map(([call, outcome]) => (
            <tr>
              <td><CallName test={test} call={call} /></td>
              <td>{oneLine(reference.get(call) ?? "not made")}</td>
              <td>{faults.has(call) && <span class="injected">{"\u26a1"} </span>}<span class={!passed && bad(test, call, outcome) ? "failed" : ""}>{oneLine(test.outcomes[outcome]?.words ?? "")}</span></td>
            </tr>
          ))}
        </tbody>
      </table>
      {tree && <Sequence test={test} rows={tree} marks={noMarks} title={`Execution ${number}`} />}
    </article>
  );
}
