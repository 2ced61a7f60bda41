// What the callers saw in a finding's execution and in the reference execution. What is equal is folded.
import { useState } from "preact/hooks";
import type { Finding, Row, Test } from "../data";
import { markWords, type Both } from "../diff";
import { CallName, counted, oneLine, visible } from "../parts";

const mostRows = 60; // that differ; the tree below has all of them
const shownBody = 600; // characters
const kept = 24; // equal characters beside what differs

type Run = { equal: true; rows: Both[] } | { equal: false; row: Both };

function runsOf(both: Both[]): Run[] {
  const out: Run[] = [];
  for (const row of both) {
    const last = out[out.length - 1];
    if (row.mark !== "same") out.push({ equal: false, row });
    else if (last?.equal) last.rows.push(row);
    else out.push({ equal: true, rows: [row] });
  }
  return out;
}

// Where two texts begin to differ, and where they are equal again, from the end.
export function difference(a: string, b: string): { begin: number; end: number } {
  const least = Math.min(a.length, b.length);
  let begin = 0, end = 0;
  while (begin < least && a[begin] === b[begin]) ++begin;
  while (end < least - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) ++end;
  return { begin, end };
}

export function Saw({ test, finding, both }: { test: Test; finding: Finding; both: Both[] }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const runs = runsOf(both).slice(0, 2 * mostRows);
  const toggle = (at: number) => {
    const next = new Set(open);
    if (!next.delete(at)) next.add(at);
    setOpen(next);
  };
  const logged = finding.seen.filter((line) => / logged /.test(line));
  return (
    <>
      <table class="saw">
        <thead><tr><th scope="col">who called</th><th scope="col">without faults</th><th scope="col">here</th></tr></thead>
        <tbody>
          {runs.map((run, at) => run.equal ? (
            <>
              <tr class="equal"><td colSpan={3}>
                <button type="button" aria-expanded={open.has(at)} onClick={() => toggle(at)}>{open.has(at) ? "\u25be" : "\u25b8"} {counted(run.rows.length, "call")} as without faults</button>
              </td></tr>
              {open.has(at) && run.rows.map((row) => <SawRow test={test} both={row} />)}
            </>
          ) : <SawRow test={test} both={run.row} />)}
        </tbody>
      </table>
      {logged.length > 0 && <ul class="logged">{logged.map((line) => <li>{visible(line)}</li>)}</ul>}
    </>
  );
}

function SawRow({ test, both }: { test: Test; both: Both }) {
  const { reference, now, mark } = both;
  const { sign, word } = markWords[mark];
  const before = reference?.answer ?? "", after = now?.answer ?? "";
  const differs = mark !== "same" && reference !== null && now !== null && before !== after;
  return (
    <tr class={`saw-row ${mark}`}>
      <th scope="row"><span class="mark" title={word}>{sign}<span class="hidden"> {word}: </span></span> <CallName test={test} call={(now ?? reference)!.call} /></th>
      <td>{reference ? <Told row={reference} /> : <span class="quiet">not called</span>}{differs && <Answer text={before} other={after} />}</td>
      <td>{now ? <Told row={now} /> : <span class="quiet">not called</span>}{differs && <Answer text={after} other={before} />}
        {both.why === "another request" && <span class="why"> another request</span>}</td>
    </tr>
  );
}

function Told({ row }: { row: Row }) {
  if (row.injected) return <span class="injected">{"\u26a1"} {oneLine(row.injected)}</span>;
  return <span class={row.failed ? "outcome failed" : "outcome"}>{oneLine(row.outcome)}</span>;
}

// The part in which the answer differs from the other one; what both have is cut down to some characters around it.
function Answer({ text, other }: { text: string; other: string }) {
  if (!text) return <div class="answer quiet">no body</div>;
  const { begin, end } = difference(text, other);
  const from = Math.max(0, begin - kept), to = Math.min(text.length, text.length - end + kept);
  const middle = text.slice(begin, text.length - end);
  return (
    <div class="answer"><code>
      {from > 0 && "\u2026"}{visible(text.slice(from, begin))}
      {middle && <mark>{visible(middle.slice(0, shownBody))}{middle.length > shownBody && "\u2026"}</mark>}
      {visible(text.slice(text.length - end, to))}{to < text.length && "\u2026"}
    </code></div>
  );
}
