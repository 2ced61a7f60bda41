// The RPCs of the reference execution and of a finding's execution in one tree.
import { useState } from "preact/hooks";
import type { Row, Test } from "../data";
import { markWords, type Both } from "../diff";
import { unexpected } from "../expected";
import { CallName, duration, oneLine, Source, Stack, visible } from "../parts";
import { current } from "../store";

const mostRows = 500; // that are drawn at once; a button shows more

export function Tree({ test, place, rows }: { test: Test; place: number; rows: Both[] }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [most, setMost] = useState(mostRows);
  const toggle = (at: number) => {
    const next = new Set(open);
    if (!next.delete(at)) next.add(at);
    setOpen(next);
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Tree of RPCs">
      <table class="tree">
        <thead>
          <tr><th scope="col">RPC</th><th scope="col">reference execution</th><th scope="col">under the fault</th><th scope="col">took</th></tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((both, at) => (
            <TreeRow test={test} place={place} both={both} open={open.has(at)} toggle={() => toggle(at)} />
          ))}
        </tbody>
      </table>
      {rows.length > most && <button type="button" onClick={() => setMost(most + mostRows)}>show {Math.min(mostRows, rows.length - most)} of {rows.length - most} more</button>}
    </div>
  );
}

function TreeRow({ test, place, both, open, toggle }: { test: Test; place: number; both: Both; open: boolean; toggle: () => void }) {
  const row = both.now ?? both.reference!;
  const { sign, word } = markWords[both.mark];
  const took = both.now && both.now.end !== null && both.now.start !== null ? duration(both.now.end - both.now.start) : "";
  return (
    <>
      <tr class={`rpc ${both.mark}`}>
        <th scope="row" style={{ paddingLeft: `${Math.min(both.depth, 12) * 18 + 4}px` }}>
          <button type="button" class="open" aria-expanded={open} onClick={toggle} title="arguments, answers, call stack">
            <span class="mark" title={word}>{sign}<span class="hidden"> {word}: </span></span> <CallName test={test} call={row.call} />
          </button>
          {row.cause === "none" && <span class="quiet"> cause not known</span>}
        </th>
        <td>{both.reference ? oneLine(both.reference.outcome) : <span class="quiet">not made</span>}</td>
        <td>
          {!both.now && <span class="quiet">not made</span>}
          {both.now?.injected && <span class="injected">{"\u26a1"} {oneLine(both.now.injected)} </span>}
          {both.now && !both.now.injected && <span class={unexpected(test, both.now) ? "failed" : ""}>{oneLine(both.now.outcome)}</span>}
          {both.mark === "different" && both.why && !both.why.includes(" became ") && <span class="why"> ({both.why})</span>}
        </td>
        <td class="took">{took}</td>
      </tr>
      {open && <tr class="more"><td colSpan={4}><More test={test} place={place} both={both} call={row.call} /></td></tr>}
    </>
  );
}

function More({ test, place, both, call }: { test: Test; place: number; both: Both; call: number }) {
  const site = current().sites[place]?.[call];
  return (
    <div class="details">
      <p>call site <code>{oneLine(site?.text || "not known")}</code></p>
      {site?.frame && <Source frame={site.frame} />}
      <div class="beside">
        <Carried title="reference execution" row={both.reference} />
        <Carried title="under the fault" row={both.now} />
      </div>
      <Stack test={test} call={call} />
    </div>
  );
}

function Carried({ title, row }: { title: string; row: Row | null }) {
  return (
    <div>
      <h5>{title}</h5>
      {!row ? <p class="quiet">The call was not made.</p> : (
        <dl>
          {row.detail && <><dt>note</dt><dd>{visible(row.detail)}</dd></>}
          <dt>arguments</dt><dd><Body text={row.request} /></dd>
          <dt>answer{row.size ? `, ${row.size.toLocaleString("en")} bytes` : ""}</dt><dd><Body text={row.answer} /></dd>
        </dl>
      )}
    </div>
  );
}

function Body({ text }: { text: string | undefined }) {
  return text ? <pre tabIndex={0}>{visible(text)}</pre> : <span class="quiet">nothing</span>;
}
