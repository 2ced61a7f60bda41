// Every RPC with every fault: passes, fails, redundant, not reached, left out.
import { useMemo, useState } from "preact/hooks";
import { callWords, type Cell, type Test } from "../data";
import { CallName, counted, oneLine, Verdict } from "../parts";
import { go, type State } from "../store";
import { VirtualRows } from "../virtual";

const rowHeight = 30;

type Kind = "passes" | "fails" | "redundant" | "inconclusive" | "open";
const signs: Record<Kind, { sign: string; words: string }> = {
  passes: { sign: "\u2713", words: "passes" },
  fails: { sign: "\u2717", words: "fails" },
  redundant: { sign: "=", words: "redundant" },
  inconclusive: { sign: "?", words: "without a conclusion" },
  open: { sign: "\u2026", words: "not reached" },
};

function kindOf([, , passed, failed, redundant, inconclusive]: Cell): Kind {
  if (failed > 0) return "fails";
  if (passed > 0) return "passes";
  if (redundant > 0) return "redundant";
  return inconclusive > 0 ? "inconclusive" : "open";
}

export function Matrix({ state }: { state: State }) {
  return <>{state.summary!.tests.map((test, place) => <OneMatrix key={test.test} state={state} test={test} place={place} />)}</>;
}

function OneMatrix({ state, test, place }: { state: State; test: Test; place: number }) {
  const [open, setOpen] = useState<Cell | null>(null);
  const { rows, faults, cells } = useMemo(() => {
    const cells = new Map<number, Map<number, Cell>>();
    const faults = new Set<number>();
    for (const cell of test.matrix) {
      faults.add(cell[1]);
      const row = cells.get(cell[0]);
      if (row) row.set(cell[1], cell);
      else cells.set(cell[0], new Map([[cell[1], cell]]));
    }
    return { cells, rows: [...cells.keys()].sort((a, b) => a - b), faults: [...faults].sort((a, b) => a - b) };
  }, [test]);
  const { text, service, fault } = state.filter;
  const wanted = text.trim().toLowerCase();
  const shown = rows.filter((call) => {
    const row = test.calls[call];
    if (service && row?.service !== service && row?.caller !== service) return false;
    const words = `${callWords(row)} ${state.sites[place]?.[call]?.text ?? ""}`.toLowerCase();
    return !wanted || words.includes(wanted);
  });
  const columns = fault ? faults.filter((row) => test.outcomes[row]?.text === fault) : faults;
  const template = `minmax(260px, 1fr) minmax(120px, 220px) repeat(${columns.length}, 74px)`;
  const left = [
    ...test.rpcs.untested.map(({ rpc, reason }) => ({ rpc, reason: `not tested: ${reason}` })),
    ...test.rpcs.by_configuration.map((rpc) => ({ rpc, reason: "the rules inject nothing there, or a bound ended the exploration before" })),
  ];
  return (
    <section>
      <h2>RPCs and faults{state.summary!.tests.length > 1 ? `: ${oneLine(test.test)}` : ""}</h2>
      <p class="legend">
        {(Object.keys(signs) as Kind[]).map((kind) => <span class={`key ${kind}`}><span class="mark">{signs[kind].sign}</span> {signs[kind].words}</span>)}
        <span class="quiet">A cell counts the executions whose newest fault it is.</span>
      </p>
      {rows.length === 0 ? <p class="quiet">No fault was tried yet.</p> : (
        <VirtualRows className="matrix" label={`RPCs and faults of ${test.test}`} count={shown.length} height={rowHeight}
          head={
            <div class="matrix-row head" style={{ gridTemplateColumns: template }}>
              <span>RPC</span><span>call site</span>
              {columns.map((row) => <span class="column" title={test.outcomes[row]?.text}>{oneLine(test.outcomes[row]?.words ?? "")}</span>)}
            </div>
          }
          row={(at, top) => {
            const call = shown[at]!;
            return (
              <div class="matrix-row" style={{ gridTemplateColumns: template, top: `${top}px` }}>
                <CallName test={test} call={call} />
                <code class="clip" title={state.sites[place]?.[call]?.frame}>{oneLine(state.sites[place]?.[call]?.text ?? "")}</code>
                {columns.map((row) => {
                  const cell = cells.get(call)?.get(row);
                  if (!cell) return <span class="cell none" title="not configured here">{"\u00b7"}</span>;
                  const kind = kindOf(cell);
                  const sum = cell[2] + cell[3] + cell[4] + cell[5] + cell[6];
                  return (
                    <button type="button" class={`cell ${kind}`} onClick={() => setOpen(cell)} aria-label={`${callWords(test.calls[call])}, ${test.outcomes[row]?.text}: ${signs[kind].words}`}>
                      {signs[kind].sign}{sum > 1 ? ` ${sum}` : ""}
                    </button>
                  );
                })}
              </div>
            );
          }} />
      )}
      {open && <CellDetail test={test} cell={open} close={() => setOpen(null)} />}
      {left.length > 0 && (
        <details class="left-out">
          <summary>{counted(left.length, "RPC")} left out</summary>
          <table class="figures"><thead><tr><th scope="col">RPC</th><th scope="col">why</th></tr></thead>
            <tbody>{left.slice(0, 1000).map(({ rpc, reason }) => <tr><td>{oneLine(rpc)}</td><td>{oneLine(reason)}</td></tr>)}</tbody></table>
        </details>
      )}
    </section>
  );
}

function CellDetail({ test, cell, close }: { test: Test; cell: Cell; close: () => void }) {
  const [call, fault, passed, failed, redundant, inconclusive, open, least, example, verdict, like] = cell;
  const finding = test.findings.find((row) => row.execution === example);
  return (
    <div class="cell-detail" role="status">
      <button type="button" class="close" onClick={close} aria-label="Close">{"\u00d7"}</button>
      <p><CallName test={test} call={call} /> <span class="injected">{"\u26a1"} {oneLine(test.outcomes[fault]?.text ?? "")}</span></p>
      <p>
        {passed} passed, {failed} failed, {redundant} redundant, {inconclusive} without a conclusion, {open} not reached.
        {example > 0 && <> {least === 1 ? "Alone" : `With ${least - 1} more`}: <Verdict verdict={verdict} /> in execution <a href={`#view=executions&execution=${example}`} onClick={(event) => { event.preventDefault(); go({ view: "executions", execution: example }); }}>{example}</a>.</>}
        {like.length > 0 && <> Redundant to execution {like.join(", ")}: they showed the same to each caller.</>}
        {finding && <> <a href={`#finding=${finding.id}`} onClick={(event) => { event.preventDefault(); go({ view: "findings", finding: finding.id }); }}>The finding</a>.</>}
      </p>
    </div>
  );
}
