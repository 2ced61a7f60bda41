// The RPCs of one execution over time: a row for each in the order of the tree, with a bar from its begin to its end.
import type { ComponentChildren } from "preact";
import { callWords, type Row, type Test } from "../data";
import { markWords, type Mark } from "../diff";
import { unexpected } from "../expected";
import { CallName, duration, oneLine } from "../parts";

const mostTicks = 5;
const deepest = 10; // levels that are indented

interface Line {
  row: Row;
  depth: number;
}

function linesOf(rows: Row[]): Line[] {
  const below = new Map<Row | null, Row[]>();
  rows.forEach((row, i) => {
    const parent = row.parent !== null && row.parent < i ? rows[row.parent]! : null;
    const others = below.get(parent);
    if (others) others.push(row);
    else below.set(parent, [row]);
  });
  const out: Line[] = [];
  const left: Line[] = [];
  const put = (parent: Row | null, depth: number) => {
    const rows = (below.get(parent) ?? []).map((row) => ({ row, depth }));
    left.push(...rows.sort((a, b) => (a.row.start ?? 0) - (b.row.start ?? 0)).reverse());
  };
  put(null, 0);
  for (let line = left.pop(); line; line = left.pop()) {
    out.push(line);
    put(line.row, line.depth + 1);
  }
  return out;
}

// Round times: 1, 2 or 5 with zeros.
function ticksOf(end: number): number[] {
  const rough = end / mostTicks, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((one) => one * power >= rough) ?? 10);
  const out: number[] = [];
  for (let i = 0; i * step < end * 0.97; ++i) out.push(i * step);
  return out;
}

// Beside a bar if there is room, else in it.
function placeOf(from: number, to: number): "after" | "before" | "in" {
  if (to <= 0.68) return "after";
  return from >= 0.32 ? "before" : "in";
}

export function Waterfall({ test, rows, marks, title }: { test: Test; rows: Row[]; marks: Map<Row, Mark>; title: string }) {
  const end = Math.max(0.01, ...rows.map((row) => Math.max(row.start ?? 0, row.end ?? 0)));
  const ticks = ticksOf(end);
  const percent = (time: number) => `${((100 * time) / end).toFixed(2)}%`;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, over time`}>
      <table class="waterfall">
        <thead>
          <tr>
            <th scope="col">RPC</th>
            <th scope="col"><span class="hidden">begin and end, </span>
              <div class="axis">{ticks.map((tick) => <span style={{ left: percent(tick) }}>{tick === 0 ? "0" : duration(tick)}</span>)}</div>
            </th>
          </tr>
        </thead>
        <tbody>
          {linesOf(rows).map(({ row, depth }) => {
            const mark = marks.get(row) ?? "same", call = test.calls[row.call];
            const start = row.start ?? 0, stop = row.end ?? end;
            const took = row.end === null ? "open" : duration(stop - start);
            const kind = row.injected ? "fault" : unexpected(test, row) ? "wrong" : mark;
            const sign = mark === "same" ? "" : `${markWords[mark].sign} `;
            const words = `${oneLine(callWords(call))}: from ${duration(start)}, ${took}, ${oneLine(row.outcome)}`;
            return (
              <tr class={`span ${kind}`} title={words}>
                <th scope="row" style={{ paddingLeft: `${4 + 14 * Math.min(depth, deepest)}px` }}><div>{sign && <b class="mark">{sign}</b>}<CallName test={test} call={row.call} /></div></th>
                <td>
                  <div class="track">
                    {ticks.map((tick) => <i class="tick" style={{ left: percent(tick) }} />)}
                    <div class={row.end === null ? "bar-of open" : "bar-of"} style={{ left: percent(start), width: percent(Math.max(0, stop - start)) }} />
                    <BarWords from={start / end} to={stop / end}><span class="hidden">from {duration(start)}, </span>{took} <b>{row.injected ? `\u26a1 ${oneLine(row.injected)}` : oneLine(row.outcome)}</b></BarWords>
                  </div>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function BarWords({ from, to, children }: { from: number; to: number; children: ComponentChildren }) {
  const place = placeOf(from, to);
  const style = place === "after" ? { left: `calc(${(100 * to).toFixed(2)}% + 6px)` }
    : place === "before" ? { right: `calc(${(100 * (1 - from)).toFixed(2)}% + 6px)` }
    : { left: `calc(${(100 * from).toFixed(2)}% + 6px)` };
  return <span class="bar-words" style={style}>{children}</span>;
}
