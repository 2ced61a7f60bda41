// Small parts that several views use.
import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { callWords, type Test } from "./data";
import { parseFrame } from "./callsites";
import { current } from "./store";

export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function duration(ms: number): string {
  if (ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

// Control characters as pictures of them (U+2400...), so that no text can hide or move another.
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (c) => (c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))))
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

export function oneLine(text: string): string {
  return visible(text).replace(/[\t\n\u2028\u2029]/g, " \u21b5 ");
}

// Text in which `code` stands between backticks, as messages of the command write it.
export function WithCode({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part))}</>;
}

export function CallName({ test, call }: { test: Test; call: number }) {
  const row = test.calls[call];
  if (!row) return <span>?</span>;
  return (
    <span class="call" title={oneLine(callWords(row))}>
      <b>{oneLine(row.caller || "?")}</b> {"\u2192"} <b>{oneLine(row.service || "?")}</b> <span class="name">{oneLine(row.name)}</span>
      {row.count > 1 ? ` (call ${row.count})` : ""}
    </span>
  );
}

export function isFailure(verdict: string): boolean {
  return ["failed", "crashed", "test-timeout", "no-timeout", "possible-silent-violation"].includes(verdict);
}

export function Verdict({ verdict }: { verdict: string }) {
  const [sign, kind] =
    verdict === "passed" ? ["\u2713", "good"]
    : isFailure(verdict) ? ["\u2717", "bad"]
    : ["?", "unsure"];
  return <span class={`verdict ${kind}`}>{sign} {verdict}</span>;
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page from disk may have no clipboard: the text is selected for the user to copy.
      const selection = getSelection();
      const element = document.getElementById("replay-command");
      if (selection && element) selection.selectAllChildren(element);
      return;
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return <button type="button" class="copy" onClick={copy} aria-label={label}>{copied ? "copied" : "copy"}</button>;
}

// The lines around a frame, if the daemon could read them.
export function Source({ frame }: { frame: string }) {
  const excerpt = current().summary?.sources[frame];
  const { line } = parseFrame(frame);
  if (!excerpt) return null;
  return (
    <pre class="source" tabIndex={0} aria-label={`Source of ${frame}`}>
      {excerpt.lines.map((text, i) => {
        const number = excerpt.first + i;
        const here = `${number}` === line;
        return (
          <div class={here ? "here" : ""}>
            <span class="number">{here ? "\u25b6" : " "}{String(number).padStart(5)} </span>
            {visible(text) || " "}
          </div>
        );
      })}
    </pre>
  );
}

export function Stack({ test, call }: { test: Test; call: number }) {
  const frames = (test.calls[call]?.stack ?? []).map((frame) => test.texts[frame] ?? "");
  if (frames.length === 0) return <p class="quiet">Its call stack is not known.</p>;
  return (
    <details class="stack">
      <summary>call stack, {counted(frames.length, "frame")}</summary>
      <ol>{frames.map((frame) => <li><code>{oneLine(frame)}</code><Source frame={frame} /></li>)}</ol>
    </details>
  );
}

// How wide an element is, in pixels; 0: it is not there yet.
export function useWidth<T extends HTMLElement>(): [RefObject<T>, number] {
  const box = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const look = () => setWidth(box.current?.clientWidth ?? 0);
    look();
    const watcher = new ResizeObserver(look);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return [box, width];
}

export const most = 1000; // rows of a list; report.json has all

export function List({ rows, title }: { rows: string[]; title?: string }) {
  if (rows.length === 0) return null;
  return (
    <>
      {title && <h3>{title}</h3>}
      <ul>{rows.slice(0, most).map((row) => <li>{visible(row)}</li>)}</ul>
      {rows.length > most && <p class="quiet">and {rows.length - most} more: report.json has all of them</p>}
    </>
  );
}
