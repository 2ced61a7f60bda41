// Every call site with every fault: how many executions ran, passed and failed, and what could not be tested.
import { useMemo, useState } from "preact/hooks";
import { callWords, type Cell, type Test } from "../data";
import { CallName, counted, isFailure, oneLine, Verdict } from "../parts";
import { go, type State } from "../store";
import { VirtualRows } from "../virtual";

const lineHeight = 18, around = 14, leastHeight = 42; // px of a row
const cellWidth = 156, placeWidth = 190, gap = 8; // px; styles/matrix.css has the same gap
const mostDetails = 100; // calls of a cell that are told apart
const mostFindings = 20; // of a call, that are linked

// Executions whose newest fault is one of a cell's.
interface Tally {
  passed: number;
  failed: number; // a finding has the fault, with none or some of the execution's others
  anyway: number; // failed, as they do without the fault
  redundant: number;
  inconclusive: number;
  open: number;
}
type Kind = keyof Tally;
const kinds: { kind: Kind; sign: string; word: string; words: string }[] = [
  { kind: "failed", sign: "\u2717", word: "failed", words: "ran, and the test failed because of this fault" },
  { kind: "passed", sign: "\u2713", word: "passed", words: "ran, and the test passed" },
  { kind: "anyway", sign: "\u2248", word: "failed anyway", words: "ran, and the test failed, as it does without this fault" },
  { kind: "inconclusive", sign: "?", word: "not tested", words: "could not be tested: without a conclusion" },
  { kind: "open", sign: "\u2026", word: "not reached", words: "not reached before the exploration ended" },
  { kind: "redundant", sign: "=", word: "redundant", words: "not run: another one shows the same" },
];

function tallyOf(cells: Cell[]): Tally {
  const out: Tally = { passed: 0, failed: 0, anyway: 0, redundant: 0, inconclusive: 0, open: 0 };
  for (const [, , passed, failed, redundant, inconclusive, open, , , , , anyway] of cells) {
    out.passed += passed;
    out.failed += failed;
    out.anyway += anyway;
    out.redundant += redundant;
    out.inconclusive += inconclusive;
    out.open += open;
  }
  return out;
}

const counts = (tally: Tally) => kinds.filter(({ kind }) => tally[kind] > 0);
const ran = (tally: Tally) => tally.passed + tally.failed + tally.anyway + tally.inconclusive;
// The findings whose minimal set has a fault of these cells: only they make a cell red.
const findingsOf = (test: Test, cells: Cell[]) => [...new Set(cells.flatMap((cell) => cell[12]))].flatMap((place) => test.findings[place] ?? []);

// "in finding 3": of a fault that is part of a finding, and was the newest one in none of its executions.
function partOf(test: Test, cells: Cell[]): string {
  const findings = findingsOf(test, cells);
  if (findings.length === 0 || cells.some((cell) => cell[3] > 0)) return "";
  const one = findings.length === 1 ? findings[0]!.number : 0;
  return one > 0 ? `in finding ${one}` : `in ${counted(findings.length, "failing set")}`;
}

function words(tally: Tally): string {
  const parts = counts(tally).map(({ kind, word }) => `${tally[kind].toLocaleString("en")} ${word}`);
  return [`${ran(tally).toLocaleString("en")} ran`, ...parts].join(", ");
}

// The calls that one place in the code makes to one service.
interface SiteRow {
  calls: number[];
  site: string; // "": not known
  cells: Map<number, Cell[]>; // by fault
}

// A call site is one row, whatever its calls carry. Where it is not known, each call is one.
function siteRows(test: Test, sites: { text: string; frame: string }[]): SiteRow[] {
  const rows = new Map<string, SiteRow>();
  for (const cell of [...test.matrix].sort((a, b) => a[0] - b[0])) {
    const call = test.calls[cell[0]], site = sites[cell[0]];
    const key = site?.text ? [call?.caller, call?.service, site.text, site.frame].join("\n") : `${cell[0]}`;
    let row = rows.get(key);
    if (!row) rows.set(key, (row = { calls: [], site: site?.text ?? "", cells: new Map() }));
    // In the order of the calls: a call that is there is the last one.
    if (row.calls[row.calls.length - 1] !== cell[0]) row.calls.push(cell[0]);
    const others = row.cells.get(cell[1]);
    if (others) others.push(cell);
    else row.cells.set(cell[1], [cell]);
  }
  return [...rows.values()];
}

export function Matrix({ state }: { state: State }) {
  return <>{state.summary!.tests.map((test, place) => <OneMatrix key={test.test} state={state} test={test} place={place} />)}</>;
}

function OneMatrix({ state, test, place }: { state: State; test: Test; place: number }) {
  const [open, setOpen] = useState<Cell[] | null>(null);
  const sites = state.sites[place];
  const { rows, faults } = useMemo(() => ({
    rows: siteRows(test, sites ?? []),
    faults: [...new Set(test.matrix.map((cell) => cell[1]))].sort((a, b) => a - b),
  }), [test, sites]);
  const { text, service, fault } = state.filter;
  const wanted = text.trim().toLowerCase();
  const shown = rows.filter((row) => row.calls.some((at) => {
    const call = test.calls[at];
    if (service && call?.service !== service && call?.caller !== service) return false;
    return !wanted || `${callWords(call)} ${row.site}`.toLowerCase().includes(wanted);
  }));
  const columns = fault ? faults.filter((row) => test.outcomes[row]?.text === fault) : faults;
  const all = tallyOf(test.matrix);
  const height = useMemo(() => {
    let lines = 1;
    for (const row of rows) for (const cells of row.cells.values()) lines = Math.max(lines, counts(tallyOf(cells)).length + (partOf(test, cells) ? 1 : 0));
    return Math.max(leastHeight, lines * lineHeight + around);
  }, [rows, test]);
  return (
    <section>
      <h2>Call sites and faults{state.summary!.tests.length > 1 ? `: ${oneLine(test.test)}` : ""}</h2>
      <p><b>{counted(rows.length, "call site")}, {counted(faults.length, "fault")}:</b> {words(all)}.{test.rpcs.untested.length > 0 && <> <b>{counted(test.rpcs.untested.length, "RPC")} could not be tested</b>: see below.</>}</p>
      <p class="legend">
        {kinds.map(({ kind, sign, words }) => <span class={`key ${kind}`}><span class="mark">{sign}</span> {words}</span>)}
        <span class="quiet">A cell counts the executions whose newest fault it is; "2 of 5" are of those that ran. It is red where a finding has the fault.</span>
      </p>
      {rows.length === 0 ? <p class="quiet">No fault was tried yet.</p>
        : <Table test={test} rows={shown} columns={columns} height={height} look={setOpen} />}
      {open && <CellDetail test={test} cells={open} close={() => setOpen(null)} />}
      <LeftOut test={test} />
    </section>
  );
}

interface TableProps {
  test: Test;
  rows: SiteRow[];
  columns: number[];
  height: number;
  look: (cells: Cell[]) => void;
}

function Table({ test, rows, columns, height, look }: TableProps) {
  const grid = {
    gridTemplateColumns: `minmax(${placeWidth}px, 1fr) repeat(${columns.length}, ${cellWidth}px)`,
    minWidth: `${placeWidth + columns.length * (cellWidth + gap) + 2 * gap}px`,
  };
  return (
    <VirtualRows className="matrix" label={`Call sites and faults of ${test.test}`} role="table" count={rows.length} height={height}
      head={
        <div class="matrix-row head" role="row" style={grid}>
          <span class="place" role="columnheader">call site</span>
          {columns.map((column) => <span class="column" role="columnheader" title={test.outcomes[column]?.text}>{oneLine(test.outcomes[column]?.text ?? "")}</span>)}
        </div>
      }
      row={(at, top) => {
        const row = rows[at]!, first = row.calls[0]!;
        return (
          <div class="matrix-row" role="row" style={{ ...grid, top: `${top}px`, height: `${height}px` }}>
            <span class="place" role="rowheader" title={row.calls.slice(0, 20).map((call) => oneLine(callWords(test.calls[call]))).join("\n")}>
              <CallName test={test} call={first} />
              <span class="quiet clip"><code>{oneLine(row.site || "call site not known")}</code>{row.calls.length > 1 && `, and ${counted(row.calls.length - 1, "other call")}`}</span>
            </span>
            {columns.map((column) => <OneCell test={test} call={first} fault={column} cells={row.cells.get(column)} look={look} />)}
          </div>
        );
      }} />
  );
}

function OneCell({ test, call, fault, cells, look }: { test: Test; call: number; fault: number; cells: Cell[] | undefined; look: (cells: Cell[]) => void }) {
  if (!cells) return <span class="cell none" role="cell">not configured</span>;
  const tally = tallyOf(cells), parts = counts(tally), part = partOf(test, cells);
  return (
    <span role="cell">
      <button type="button" class={`cell most-${part ? "failed" : parts[0]?.kind ?? "open"}`} onClick={() => look(cells)}>
        <span class="hidden">{oneLine(callWords(test.calls[call]))}, {oneLine(test.outcomes[fault]?.text ?? "")}: </span>
        {parts.map(({ kind, sign, word }, i) => (
          <span class={kind}>{sign} {tally[kind].toLocaleString("en")}{i === 0 && ran(tally) > 0 ? ` of ${ran(tally).toLocaleString("en")}` : ""} {word}</span>
        ))}
        {part && <span class="failed">{"\u2717"} {part}</span>}
      </button>
    </span>
  );
}

function CellDetail({ test, cells, close }: { test: Test; cells: Cell[]; close: () => void }) {
  return (
    <div class="cell-detail" role="status">
      <button type="button" class="close" onClick={close} aria-label="Close">{"\u00d7"}</button>
      {cells.slice(0, mostDetails).map((cell) => {
        const [call, fault, , failed, , , , least, example, verdict, like, anyway] = cell;
        const findings = findingsOf(test, [cell]);
        return (
          <>
            <p><CallName test={test} call={call} /> <span class="injected">{"\u26a1"} {oneLine(test.outcomes[fault]?.text ?? "")}</span></p>
            <p class="of-call">
              {words(tallyOf([cell]))}.
              {example > 0 && <> {least === 1 ? "Alone" : `With ${least - 1} more`}: <Verdict verdict={verdict} /> in execution <a href={`#view=executions&execution=${example}`} onClick={(event) => { event.preventDefault(); go({ view: "executions", execution: example }); }}>{example}</a>{anyway > 0 && failed === 0 && isFailure(verdict) && ", as without this fault"}.</>}
              {like.length > 0 && <> Redundant to execution {like.join(", ")}: they showed the same to each caller.</>}
              {findings.length > 0 && <> A part of {findings.slice(0, mostFindings).map((finding, i) => <>{i > 0 && ", "}<a href={`#finding=${finding.id}`} onClick={(event) => { event.preventDefault(); go({ view: "findings", finding: finding.id }); }}>finding {finding.number || finding.id}</a></>)}{findings.length > mostFindings && ` and ${findings.length - mostFindings} more`}.</>}
            </p>
          </>
        );
      })}
      {cells.length > mostDetails && <p class="quiet">and {counted(cells.length - mostDetails, "other call")}</p>}
    </div>
  );
}

function LeftOut({ test }: { test: Test }) {
  const left = [
    ...test.rpcs.untested.map(({ rpc, reason }) => ({ rpc, reason: `not tested: ${reason}` })),
    ...test.rpcs.by_configuration.map((rpc) => ({ rpc, reason: "the rules inject nothing there, or a bound ended the exploration before" })),
  ];
  if (left.length === 0) return null;
  return (
    <details class="left-out" open={left.length <= 10}>
      <summary>{counted(left.length, "RPC")} left out</summary>
      <table class="figures"><thead><tr><th scope="col">RPC</th><th scope="col">why</th></tr></thead>
        <tbody>{left.slice(0, 1000).map(({ rpc, reason }) => <tr><td>{oneLine(rpc)}</td><td>{oneLine(reason)}</td></tr>)}</tbody></table>
    </details>
  );
}
