// The RPCs of one execution: as a sequence diagram (services from left to right, time from top to bottom), or
// as a waterfall over time.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { callWords, type Row, type Test } from "../data";
import { markWords, type Mark } from "../diff";
import { unexpected } from "../expected";
import { duration, oneLine, useWidth } from "../parts";
import { diagramBold, wrapped } from "../text";
import { Waterfall } from "./waterfall";

const left = 52, lineHeight = 13, around = 9; // px
const widest = 170, narrowest = 78; // px between two services
const mostBeside = 8; // services that are read well in a sequence diagram
const narrowScreen = 760; // px; style.css has the same
const mostRows = 400; // RPCs that are drawn; the tree has all of them
const mostLines = 3; // of a label; the line above the diagram has it whole
const testName = "test"; // the caller of the first RPCs (daemon/model/caller.h)

type Way = "sequence" | "waterfall";
// All diagrams of the page are shown in the way that was chosen last; before that, as fits the services and the screen.
let chosen: Way | null = null;
const listeners = new Set<(way: Way | null) => void>();
function choose(way: Way) {
  chosen = way;
  for (const listener of listeners) listener(way);
}

interface Props {
  test: Test;
  rows: Row[];
  marks: Map<Row, Mark>;
  title: string;
}

export function Sequence(props: Props) {
  const { test, title, rows } = props;
  const [wanted, setWay] = useState(chosen);
  useEffect(() => {
    listeners.add(setWay);
    return () => void listeners.delete(setWay);
  }, []);
  const shown = useMemo(() => rows.slice(0, mostRows), [rows]);
  const way = wanted ?? (innerWidth <= narrowScreen || servicesOf(test, rows).length > mostBeside ? "waterfall" : "sequence");
  return (
    <figure class={way === "sequence" ? "sequence" : "sequence over-time"}>
      <figcaption>{title}{rows.length > mostRows ? ` (the first ${mostRows} RPCs)` : ""}</figcaption>
      <span class="ways" role="group" aria-label={`${title}, form of the diagram`}>
        <button type="button" aria-pressed={way === "sequence"} onClick={() => choose("sequence")}>sequence</button>
        <button type="button" aria-pressed={way === "waterfall"} onClick={() => choose("waterfall")}>over time</button>
      </span>
      {way === "sequence" ? <Diagram {...props} rows={shown} /> : <Waterfall {...props} rows={shown} />}
    </figure>
  );
}

interface Message {
  row: Row;
  time: number;
  answer: boolean;
  y: number;
  from: number;
  to: number;
  stops: boolean; // at a fault, before the service
  label: string[];
  words: string; // the whole
}

interface Plan {
  services: { name: string; lines: string[]; x: number }[];
  messages: Message[];
  busy: { x: number; y: number; height: number }[];
  top: number;
  width: number;
  height: number;
}

function servicesOf(test: Test, rows: Row[]): string[] {
  const names = new Set<string>();
  for (const row of rows) {
    names.add(test.calls[row.call]?.caller || "?");
    names.add(test.calls[row.call]?.service || "?");
  }
  // The test begins, whoever was seen first.
  return names.has(testName) ? [testName, ...[...names].filter((name) => name !== testName)] : [...names];
}

function planOf(test: Test, rows: Row[], marks: Map<Row, Mark>, room: number): Plan {
  const names = servicesOf(test, rows);
  const lane = Math.max(narrowest, Math.min(widest, Math.floor((room - left) / Math.max(1, names.length))));
  const services = names.map((name, i) => ({ name, lines: wrapped(oneLine(name), lane - 8, 3, diagramBold), x: left + i * lane + lane / 2 }));
  const xs = new Map(services.map(({ name, x }) => [name, x]));
  const moments: { row: Row; time: number; answer: boolean }[] = [];
  let last = 0;
  for (const row of rows) {
    last = Math.max(last, row.start ?? last);
    moments.push({ row, time: row.start ?? last, answer: false });
    if (row.end !== null) moments.push({ row, time: row.end, answer: true });
  }
  moments.sort((a, b) => a.time - b.time); // stable: an answer follows its request
  const top = 10 + 15 * Math.max(1, ...services.map(({ lines }) => lines.length));
  const at = new Map<Row, [from: number, to: number]>();
  let y = top;
  const messages = moments.map(({ row, time, answer }): Message => {
    const call = test.calls[row.call];
    const caller = xs.get(call?.caller || "?")!, service = xs.get(call?.service || "?")!;
    const stops = !!row.injected && !row.received;
    const direction = service >= caller ? 1 : -1;
    const end = caller === service ? caller + lane * 0.6 : stops ? service - direction * 16 : service - direction * 4;
    const [from, to] = answer ? [end, caller + direction * 2] : [caller + direction * 2, end];
    const mark = marks.get(row) ?? "same";
    const text = answer ? row.outcome : shortName(call?.name ?? "?", call?.protocol ?? "");
    const label = wrapped(`${mark === "same" ? "" : `${markWords[mark].sign} `}${oneLine(text)}`, Math.max(lane - 16, Math.abs(to - from) - 10), mostLines);
    y += around + lineHeight * label.length;
    const known = at.get(row);
    at.set(row, answer && known ? [known[0], y] : [y, y]);
    const fault = row.injected ? `, injected: ${oneLine(row.injected)}` : "";
    const took = answer && row.start !== null && row.end !== null ? ` after ${duration(row.end - row.start)}` : "";
    const words = `${duration(time)}: ${oneLine(callWords(call))}${answer ? `, answer ${oneLine(row.outcome)}${took}` : ""}${fault}${mark === "same" ? "" : ` (${markWords[mark].word})`}`;
    return { row, time, answer, y, from, to, stops, label, words };
  });
  const height = y + 20;
  const busy = rows.filter((row) => !row.injected || row.received).map((row) => {
    const [from, to] = at.get(row)!;
    return { x: xs.get(test.calls[row.call]?.service || "?")! - 3, y: from, height: Math.max(4, (row.end === null ? height - 10 : to) - from) };
  });
  return { services, messages, busy, top, width: left + names.length * lane, height };
}

function Diagram({ test, rows, marks, title }: Props) {
  const [box, room] = useWidth<HTMLDivElement>();
  const plan = useMemo(() => planOf(test, rows, marks, room), [test, rows, marks, room]);
  const [at, setAt] = useState(0); // the message that the keys have reached
  const [told, setTold] = useState("");
  const svg = useRef<SVGSVGElement>(null);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const all = svg.current?.querySelectorAll<SVGGElement>(".message") ?? [];
    if (!step || !all[at + step]) return;
    event.preventDefault();
    all[at + step]!.focus();
  };
  return (
    <>
      <p class="told">{told || <span class="quiet">The whole of a message stands here when it is pointed at; arrow keys go through them.</span>}</p>
      <div ref={box} class="scroll" tabIndex={0} role="region" aria-label={`${title}, diagram`}>
        <svg ref={svg} width={plan.width} height={plan.height} viewBox={`0 0 ${plan.width} ${plan.height}`} role="group" onKeyDown={press}
          aria-label={`${title}: ${rows.length} RPCs among ${plan.services.map(({ name }) => oneLine(name)).join(", ")}; the tree has the same in words`}>
          {plan.services.map(({ name, lines, x }) => (
            <g class="who-line">
              <text class="who" x={x} text-anchor="middle"><title>{oneLine(name)}</title>{lines.map((line, i) => <tspan x={x} y={14 + 15 * i}>{line}</tspan>)}</text>
              <line class="life" x1={x} x2={x} y1={plan.top} y2={plan.height - 6} />
            </g>
          ))}
          {plan.busy.map(({ x, y, height }) => <rect class="busy" x={x} y={y} width={6} height={height} />)}
          {plan.messages.map((message, i) => (
            <OneMessage test={test} message={message} mark={marks.get(message.row) ?? "same"} reached={i === at}
              tell={() => setTold(message.words)} focus={() => { setAt(i); setTold(message.words); }} />
          ))}
        </svg>
      </div>
    </>
  );
}

function OneMessage({ test, message, mark, reached, tell, focus }: { test: Test; message: Message; mark: Mark; reached: boolean; tell: () => void; focus: () => void }) {
  const { row, answer, y, from, to, stops, label, time } = message;
  const middle = (from + to) / 2, first = y - 4 - lineHeight * (label.length - 1);
  return (
    <g class={`message ${mark} ${answer ? "answer" : ""} ${answer && unexpected(test, row) ? "failed" : ""}`} role="img" aria-label={message.words}
      tabIndex={reached ? 0 : -1} onMouseEnter={tell} onFocus={focus}>
      <rect class="hit" x={0} y={first - lineHeight} width={Math.max(from, to) + 8} height={y - first + lineHeight + 3} />
      <text class="time" x={left - 8} y={y + 4} text-anchor="end">{duration(time)}</text>
      <line x1={from} x2={to} y1={y} y2={y} />
      {stops && !answer
        ? <text class="stop" x={to + (to >= from ? 8 : -8)} y={y + 5} text-anchor="middle">{"\u2717"}</text>
        : <path d={`M${to} ${y} l${to >= from ? -6 : 6} -3.5 v7 z`} />}
      <text class="label" text-anchor="middle">{label.map((line, i) => <tspan x={middle} y={first + lineHeight * i}>{line}</tspan>)}</text>
    </g>
  );
}

// Of a gRPC method its last name: "shop.CartService/GetCart" -> "GetCart".
function shortName(name: string, protocol: string): string {
  return protocol === "grpc" ? name.slice(name.lastIndexOf("/") + 1) : name;
}
