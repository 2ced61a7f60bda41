// One finding: the test's own words, the fault in words, the call site; then what would mend it, its sets of
// faults, what the callers saw, and the whole execution below.
import { useMemo } from "preact/hooks";
import { compare, markWords, type Both, type Mark } from "../diff";
import type { FailedTest, Finding, Row, Test } from "../data";
import type { Group } from "../groups";
import { CallName, Copy, counted, oneLine, Source, Stack, Verdict, visible, WithCode } from "../parts";
import { current } from "../store";
import { Saw } from "./saw";
import { Sequence } from "./sequence";
import { Sets } from "./sets";
import { Tree } from "./tree";

const mostNumbers = 8; // of findings, in a line

// What failed, in one line: the first failed assertion with the name of its test, else what the session says.
export function ownWords(test: Test, finding: Finding): string {
  const first = finding.verdict === "failed" && finding.recognised ? finding.failed[0] : undefined;
  if (!first) return `${oneLine(test.test)}: ${oneLine(finding.headline)}`;
  const said = first.said.split("\n")[0] ?? "";
  return `${oneLine(first.name || test.test)}${said ? `: ${oneLine(said)}` : ""}`;
}

export function Detail({ test, place, group, sets, finding }: { test: Test; place: number; group: Group; sets: Finding[]; finding: Finding }) {
  const tree = test.trees[finding.execution];
  const both = useMemo(() => (tree && test.reference ? compare(test, test.reference, tree) : null), [tree, test]);
  const output = test.texts[finding.output] ?? "";
  return (
    <article class="finding" aria-labelledby="headline">
      <header>
        <p class="kicker"><Verdict verdict={finding.verdict} />
          {current().summary!.tests.length > 1 || finding.failed[0]?.name ? <> in test {oneLine(test.test)}</> : null}
          {finding.number > 0 && <>, finding {finding.number}</>}, execution {finding.execution}
          {finding.executions > 1 && <>; {counted(finding.executions, "failing execution contains", "failing executions contain")} {finding.faults.length > 1 ? "these faults" : "this fault"}</>}
          {finding.reproduced === true && <>; replayed once: fails again</>}
          {finding.reproduced === false && <>; <strong class="failed">replayed once: did not reproduce (the failure depends on more than these faults)</strong></>}
        </p>
        <h2 id="headline">{ownWords(test, finding)}</h2>
        <Words finding={finding} />
      </header>

      <section aria-labelledby="why">
        <h3 id="why" class="hidden">Why: {counted(finding.faults.length, "fault")}</h3>
        <p class="under">{finding.verdict === "possible-silent-violation" ? "It happens" : "It fails"} when {finding.faults.length > 1 ? `${finding.faults.length} faults come together` : "this happens"}:</p>
        <ol class={finding.faults.length > 1 ? "faults" : "faults one"}>
          {finding.faults.map((fault, at) => {
            const site = current().sites[place]?.[fault.call];
            const shown = finding.faults.findIndex((other) => current().sites[place]?.[other.call]?.frame === site?.frame) < at;
            return (
              <li>
                <p class="fault-line"><span class="injected">{"\u26a1"} {oneLine(fault.words)}</span>{fault.words !== fault.fault && <code class="quiet"> {oneLine(fault.text)}</code>}</p>
                <p><CallName test={test} call={fault.call} /></p>
                {fault.arguments && <pre class="arguments" tabIndex={0}>{visible(fault.arguments)}</pre>}
                <p class="where">at <code class="site">{oneLine(site?.text || "a call site that is not known")}</code>
                  {(test.calls[fault.call]?.path.length ?? 0) > 0 && <span class="quiet"> on the way {test.calls[fault.call]!.path.map(oneLine).join(" \u203a ")}</span>}</p>
                {/* The attempts of one call have one call site. */}
                {site?.frame && !shown && <Source frame={site.frame} />}
                {!shown && <Stack test={test} call={fault.call} />}
              </li>
            );
          })}
        </ol>
        <Mending group={group} />
      </section>

      <Sets test={test} sets={sets} chosen={finding} />

      {both && (
        <section aria-labelledby="saw">
          <h3 id="saw">What the callers saw</h3>
          <Saw test={test} finding={finding} both={both} />
        </section>
      )}

      <section aria-labelledby="output">
        <h3 id="output">What the test printed{finding.detail ? ` (${oneLine(finding.detail)})` : ""}</h3>
        {output ? <pre class="output" tabIndex={0}>{visible(output)}</pre> : <p class="quiet">It printed nothing.</p>}
      </section>

      <section aria-labelledby="again">
        <h3 id="again">Again</h3>
        {finding.replay ? <p class="replay"><code id="replay-command">{oneLine(finding.replay)}</code> <Copy text={finding.replay} label="Copy the replay command" /></p>
                        : <p class="quiet">Its counterexample could not be written.</p>}
      </section>

      <section aria-labelledby="otherwise">
        <h3 id="otherwise">The whole execution beside the reference execution</h3>
        {both ? <Beside test={test} place={place} reference={test.reference!} now={tree!} both={both} />
              : <p class="quiet">The trees of the first 1,000 findings are kept, and this one came later: replay it to see its execution.</p>}
      </section>
    </article>
  );
}

// What would mend all sets of faults of the group. What holds for some of them only names these, as the terminal does.
function Mending({ group }: { group: Group }) {
  return (
    <>
      {group.mending.map(({ text, findings }) => (
        <p class="mending"><b>What would mend {findings.length === group.findings.length ? "it" : numbersOf(findings)}:</b> <WithCode text={oneLine(text)} /></p>
      ))}
    </>
  );
}

// "findings 1, 4 and 6"
function numbersOf(findings: Finding[]): string {
  const names = findings.slice(0, mostNumbers).map((row) => (row.number > 0 ? `${row.number}` : row.id));
  if (findings.length > mostNumbers) names.push(`${findings.length - mostNumbers} more`);
  const last = names.pop();
  return `${findings.length === 1 ? "finding" : "findings"} ${names.length > 0 ? `${names.join(", ")} and ` : ""}${last}`;
}

// The assertions with their values. The headline has the first line of the first one.
function Words({ finding }: { finding: Finding }) {
  const [first, ...others] = finding.failed;
  if (!first || (finding.verdict !== "failed" && !finding.recognised)) return null;
  const inHeadline = finding.verdict === "failed" && finding.recognised;
  return (
    <div class="words">
      <Said test={first} named={!inHeadline} from={inHeadline ? 1 : 0} />
      {others.slice(0, 5).map((test) => <Said test={test} named={true} from={0} />)}
      {others.length > 5 && <p class="quiet">and {counted(others.length - 5, "more failed test")}</p>}
    </div>
  );
}

function Said({ test, named, from }: { test: FailedTest; named: boolean; from: number }) {
  const said = test.said.split("\n").slice(from).join("\n");
  return (
    <>
      {named && test.name && <p class="own-name">{oneLine(test.name)}</p>}
      {said && <pre class="said" tabIndex={0}>{visible(said)}</pre>}
      {test.place && <p class="quiet">at {oneLine(test.place)}{test.source && <>: <code>{oneLine(test.source)}</code></>}</p>}
    </>
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
