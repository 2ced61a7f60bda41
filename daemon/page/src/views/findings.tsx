// What fails, why, where in the code, and what would have happened otherwise.
import { useMemo } from "preact/hooks";
import { compare, markWords, type Both, type Mark } from "../diff";
import type { Finding, Row, Summary, Test } from "../data";
import { filtered, type Group } from "../groups";
import { CallName, Copy, counted, oneLine, Source, Stack, Verdict, visible } from "../parts";
import { current, go, testOf, type State } from "../store";
import { VirtualRows } from "../virtual";
import { headlineOf } from "./headline";
import { Sequence } from "./sequence";
import { Tree } from "./tree";

const rowHeight = 58; // px of a group in the list; style.css has the same
const mostChips = 60; // findings of a group that are shown beside the chosen one

export interface Shown {
  group: Group;
  findings: Finding[];
}

// The groups that the filter leaves, each with its findings that it leaves.
export function shownGroups(state: State): Shown[] {
  return state.groups
    .map((group) => ({ group, findings: filtered(group, testOf(group), state.sites[group.test] ?? [], state.filter) }))
    .filter(({ findings }) => findings.length > 0);
}

export function chosen(state: State, shown: Shown[]): { at: number; finding: Finding } | null {
  for (let at = 0; at < shown.length; ++at) {
    const finding = shown[at]!.findings.find((row) => row.id === state.finding);
    if (finding) return { at, finding };
  }
  const first = shown[0]?.findings[0];
  return first ? { at: 0, finding: first } : null;
}

export function Findings({ state, shown }: { state: State; shown: Shown[] }) {
  const now = chosen(state, shown);
  if (!now) {
    const any = state.groups.length > 0;
    return (
      <section class="nothing">
        <h2>{any ? "No finding matches the filter" : nothingFound(state.summary!)}</h2>
        {any ? <button type="button" onClick={() => go({ filter: { text: "", service: "", fault: "", verdict: "" } })}>show all findings</button>
             : state.summary!.tests.length <= state.summary!.environment.length ? <p>Nothing can be concluded until the environment error is mended.</p>
             : <p>The <a href="#view=matrix">matrix</a> has every fault that was tried, and the <a href="#view=notes">notes</a> what could not be.</p>}
      </section>
    );
  }
  const { group } = shown[now.at]!;
  return (
    <div class="findings">
      <VirtualRows className="groups" label="Findings, by the RPCs that fail" role="list" count={shown.length} height={rowHeight} focus={now.at}
        row={(at, top) => <GroupRow shown={shown[at]!} top={top} chosen={at === now.at} />} />
      <Detail key={`${group.test}:${now.finding.id}`} test={testOf(group)} place={group.test} shown={shown[now.at]!} finding={now.finding} />
    </div>
  );
}

function nothingFound(summary: Summary): string {
  const of = summary.tests.length;
  const errors = summary.environment.length;
  if (errors > 0) return errors < of ? `No failure found in the other ${of - errors === 1 ? "test" : "tests"}` : "Nothing was explored";
  if (summary.state === "running") return "No failure found so far";
  return headlineOf(summary, 0).kind === "passed" ? "No failure found" : "No failure found in what could be tested";
}

function GroupRow({ shown, top, chosen: here }: { shown: Shown; top: number; chosen: boolean }) {
  const { group, findings } = shown;
  const test = testOf(group);
  const first = findings[0]!;
  const kinds = [...new Set(findings.flatMap((finding) => finding.faults.map((fault) => fault.fault)))];
  return (
    <div role="listitem" class="group-row" style={{ top: `${top}px` }}>
      <a class={here ? "group here" : "group"} href={`#finding=${first.id}`} aria-current={here ? "true" : undefined}
        onClick={(event) => { event.preventDefault(); go({ view: "findings", finding: first.id }); }}>
        <span class="line">{group.calls.map((call, i) => <>{i > 0 && <span class="plus"> + </span>}<CallName test={test} call={call} /></>)}</span>
        <span class="line quiet">
          {findings.length > 1 ? `${counted(findings.length, "finding")}: ` : ""}{kinds.slice(0, 8).map(oneLine).join(", ")}{kinds.length > 8 ? ", \u2026" : ""}
        </span>
      </a>
    </div>
  );
}

function Detail({ test, place, shown, finding }: { test: Test; place: number; shown: Shown; finding: Finding }) {
  const tree = test.trees[finding.execution];
  const both = useMemo(() => (tree && test.reference ? compare(test, test.reference, tree) : null), [tree, test]);
  const output = test.texts[finding.output] ?? "";
  const several = current().summary!.tests.length > 1;
  return (
    <article class="finding" aria-labelledby="headline">
      <header>
        <h2 id="headline">{oneLine(finding.headline)}</h2>
        <p>
          <Verdict verdict={finding.verdict} />
          {several && <> in test <b>{oneLine(test.test)}</b></>}
          {finding.number > 0 && <>, finding {finding.number}</>}, execution {finding.execution}
          {finding.executions > 1 && <>; {counted(finding.executions, "failing execution")} contain {finding.faults.length > 1 ? "these faults" : "this fault"}</>}
          {finding.reproduced === true && <>; replayed once: fails again</>}
          {finding.reproduced === false && <strong>; replayed once: did not reproduce (the failure depends on more than these faults)</strong>}
        </p>
      </header>
      <Siblings shown={shown} finding={finding} />

      <section aria-labelledby="why">
        <h3 id="why">Why: {counted(finding.faults.length, "fault")}</h3>
        <ol class="faults">
          {finding.faults.map((fault) => {
            const site = current().sites[place]?.[fault.call];
            return (
              <li>
                <p class="fault-line"><span class="injected">{"\u26a1"} {oneLine(fault.text)}</span>{fault.words !== fault.fault && <span class="quiet"> {oneLine(fault.words)}</span>}</p>
                <p><CallName test={test} call={fault.call} /></p>
                {fault.arguments && <pre class="arguments" tabIndex={0}>{visible(fault.arguments)}</pre>}
                <p class="where">at <code class="site">{oneLine(site?.text || "a call site that is not known")}</code>
                  {(test.calls[fault.call]?.path.length ?? 0) > 0 && <span class="quiet"> on the way {test.calls[fault.call]!.path.map(oneLine).join(" \u203a ")}</span>}</p>
                {site?.frame && <Source frame={site.frame} />}
                <Stack test={test} call={fault.call} />
              </li>
            );
          })}
        </ol>
      </section>

      <section aria-labelledby="otherwise">
        <h3 id="otherwise">Beside the reference execution</h3>
        {both ? <Beside test={test} place={place} reference={test.reference!} now={tree!} both={both} />
              : <p class="quiet">The trees of the first 1,000 findings are kept, and this one came later: replay it to see its execution.</p>}
      </section>

      <section aria-labelledby="output">
        <h3 id="output">What the test printed{finding.detail ? ` (${oneLine(finding.detail)})` : ""}</h3>
        {output ? <pre class="output" tabIndex={0}>{visible(output)}</pre> : <p class="quiet">It printed nothing.</p>}
      </section>

      <section aria-labelledby="again">
        <h3 id="again">Again</h3>
        {finding.replay ? <p class="replay"><code id="replay-command">{oneLine(finding.replay)}</code> <Copy text={finding.replay} label="Copy the replay command" /></p>
                        : <p class="quiet">Its counterexample could not be written.</p>}
      </section>
    </article>
  );
}

function Siblings({ shown, finding }: { shown: Shown; finding: Finding }) {
  if (shown.findings.length < 2) return null;
  const at = shown.findings.indexOf(finding);
  const from = Math.max(0, Math.min(at - mostChips / 2, shown.findings.length - mostChips));
  const some = shown.findings.slice(from, from + mostChips);
  return (
    <nav class="chips" aria-label="Faults of the same RPCs that fail">
      {some.map((row) => (
        <a class={row === finding ? "chip here" : "chip"} href={`#finding=${row.id}`} aria-current={row === finding ? "true" : undefined}
          onClick={(event) => { event.preventDefault(); go({ finding: row.id }); }}>
          {row.faults.map((fault) => oneLine(fault.fault)).join(" + ")}
        </a>
      ))}
      {shown.findings.length > some.length && <span class="quiet">{from + 1} to {from + some.length} of {shown.findings.length}; j and k go on</span>}
    </nav>
  );
}

function Beside({ test, place, reference, now, both }: { test: Test; place: number; reference: Row[]; now: Row[]; both: Both[] }) {
  const marks = new Map<Row, Mark>();
  const counts: Record<Mark, number> = { same: 0, gone: 0, new: 0, different: 0, fault: 0 };
  for (const row of both) {
    ++counts[row.mark];
    if (row.reference) marks.set(row.reference, row.mark === "gone" ? "gone" : "same");
    if (row.now) marks.set(row.now, row.mark);
  }
  return (
    <>
      <p class="legend">
        {(Object.keys(counts) as Mark[]).filter((mark) => counts[mark] > 0).map((mark) => (
          <span class={`key ${mark}`}><span class="mark">{markWords[mark].sign}</span> {counts[mark]} {markWords[mark].word}</span>
        ))}
      </p>
      <Tree test={test} place={place} rows={both} />
      <div class="beside">
        <Sequence test={test} rows={reference} marks={marks} title="Reference execution" />
        <Sequence test={test} rows={now} marks={marks} title={`Under the ${now.filter((row) => row.injected).length > 1 ? "faults" : "fault"}`} />
      </div>
    </>
  );
}
