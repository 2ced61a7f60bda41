// The findings as a list of groups, and the chosen one.
import type { Finding, Summary } from "../data";
import { filtered, type Group } from "../groups";
import { CallName, counted, oneLine } from "../parts";
import { setWords } from "../setwords";
import { go, testOf, type State } from "../store";
import { VirtualRows } from "../virtual";
import { Detail, ownWords } from "./detail";
import { headlineOf } from "./headline";

const rowHeight = 78; // px of a group in the list; style.css has the same

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

// An address names a finding by its id, or by the number that the terminal and `filibuster replay` use. One without a
// counterexample has no number.
const isNamed = (finding: Finding, name: string) => finding.id === name || (finding.number > 0 && `${finding.number}` === name);

export function chosen(state: State, shown: Shown[]): { at: number; finding: Finding } | null {
  for (let at = 0; at < shown.length; ++at) {
    const finding = shown[at]!.findings.find((row) => isNamed(row, state.finding));
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
  const missing = state.finding !== "" && !isNamed(now.finding, state.finding);
  return (
    <div class="findings">
      {missing && <p class="missing" role="status">{missingWords(state)} This is the first one.</p>}
      <VirtualRows className="groups" label="Findings, by the RPCs that fail" role="list" count={shown.length} height={rowHeight} focus={now.at}
        row={(at, top) => <GroupRow shown={shown[at]!} top={top} chosen={at === now.at} />} />
      <Detail key={`${group.test}:${now.finding.id}`} test={testOf(group)} place={group.test} group={group} sets={shown[now.at]!.findings} finding={now.finding} />
    </div>
  );
}

function missingWords(state: State): string {
  const hidden = state.groups.some((group) => group.findings.some((row) => isNamed(row, state.finding)));
  return hidden ? `The filter hides finding ${state.finding}.` : `There is no finding ${state.finding} in this report.`;
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
  return (
    <div role="listitem" class="group-row" style={{ top: `${top}px` }}>
      <a class={here ? "group here" : "group"} href={`#finding=${first.id}`} aria-current={here ? "true" : undefined}
        onClick={(event) => { event.preventDefault(); go({ view: "findings", finding: first.id }); }}>
        <span class="line said-line">{ownWords(test, first)}</span>
        <span class="line">{group.calls.map((call, i) => <>{i > 0 && <span class="plus"> + </span>}<CallName test={test} call={call} /></>)}</span>
        <span class="line quiet">{findings.length > 1 ? `${counted(findings.length, "set")} of faults: ` : ""}{setWords(test, findings.slice(0, 8), false).map(oneLine).join("; ")}</span>
      </a>
    </div>
  );
}
