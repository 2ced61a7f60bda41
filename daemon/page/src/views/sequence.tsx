// The RPCs of one execution as a sequence diagram: services from left to right, time from top to bottom.
import { type Row, type Test } from "../data";
import { markWords, type Mark } from "../diff";
import { duration, oneLine } from "../parts";

const left = 52, top = 34, step = 21;
const widest = 118, narrowest = 64; // px between two services
const beside = 384; // px that two diagrams beside each other leave for the services of one
const mostRows = 400; // RPCs that are drawn; the tree has all of them

interface Message {
  row: Row;
  time: number;
  answer: boolean;
}

export function Sequence({ test, rows, marks, title }: { test: Test; rows: Row[]; marks: Map<Row, Mark>; title: string }) {
  const shown = rows.slice(0, mostRows);
  const services: string[] = [];
  const place = (name: string): number => {
    const known = services.indexOf(name);
    return known >= 0 ? known : services.push(name) - 1;
  };
  const messages: Message[] = [];
  let last = 0;
  for (const row of shown) {
    const call = test.calls[row.call];
    place(call?.caller || "?");
    place(call?.service || "?");
    last = Math.max(last, row.start ?? last);
    messages.push({ row, time: row.start ?? last, answer: false });
    if (row.end !== null) messages.push({ row, time: row.end, answer: true });
  }
  messages.sort((a, b) => a.time - b.time);  // stable: an answer follows its request
  const at = new Map<Row, [from: number, to: number]>();
  messages.forEach(({ row, answer }, i) => {
    const y = top + (i + 1) * step;
    const known = at.get(row);
    at.set(row, answer && known ? [known[0], y] : [y, y]);
  });
  const lane = Math.max(narrowest, Math.min(widest, Math.floor(beside / Math.max(1, services.length))));
  const x = (service: string) => left + place(service) * lane + lane / 2;
  const width = left + services.length * lane, height = top + (messages.length + 1.5) * step;

  return (
    <figure class="sequence">
      <figcaption>{title}{rows.length > mostRows ? ` (the first ${mostRows} RPCs)` : ""}</figcaption>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, diagram`}>
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${title}: ${rows.length} RPCs among ${services.join(", ")}; the tree has the same in words`}>
          {services.map((service) => (
            <g>
              <text class="who" x={x(service)} y={16} text-anchor="middle">{clip(oneLine(service), Math.floor(lane / 6.8))}<title>{oneLine(service)}</title></text>
              <line class="life" x1={x(service)} x2={x(service)} y1={24} y2={height - 6} />
            </g>
          ))}
          {shown.map((row) => {
            const call = test.calls[row.call], [from, to] = at.get(row)!;
            // What the service did in the meantime; a fault before effect never came to it.
            if (row.injected && !row.received) return null;
            return <rect class="busy" x={x(call?.service || "?") - 3} y={from} width={6} height={Math.max(4, (row.end === null ? height - 10 : to) - from)} />;
          })}
          {messages.map(({ row, answer, time }, i) => {
            const call = test.calls[row.call], y = top + (i + 1) * step;
            const mark = marks.get(row) ?? "same";
            const caller = x(call?.caller || "?"), service = x(call?.service || "?");
            const stops = !!row.injected && !row.received;
            const direction = service >= caller ? 1 : -1;
            const end = caller === service ? caller + 30 : stops ? service - direction * 16 : service - direction * 4;
            const [from, to] = answer ? [end, caller + direction * 2] : [caller + direction * 2, end];
            const label = answer ? row.outcome : shortName(call?.name ?? "?", call?.protocol ?? "");
            const sign = mark === "same" ? "" : `${markWords[mark].sign} `;
            const middle = (from + to) / 2;
            return (
              <g class={`message ${mark} ${answer ? "answer" : ""} ${row.failed && answer ? "failed" : ""}`}>
                <text class="time" x={left - 8} y={y + 4} text-anchor="end">{duration(time)}</text>
                <line x1={from} x2={to} y1={y} y2={y} />
                {stops && !answer
                  ? <text class="stop" x={end + direction * 8} y={y + 5} text-anchor="middle">{"\u2717"}</text>
                  : <path d={`M${to} ${y} l${to >= from ? -6 : 6} -3.5 v7 z`} />}
                <text class="label" x={middle} y={y - 4} text-anchor="middle">
                  {sign}{clip(oneLine(label), Math.max(9, Math.floor(Math.abs(to - from) / 6.2)))}
                  <title>{oneLine(answer ? row.outcome : call?.name ?? "?")}{row.injected ? ` (injected: ${row.injected})` : ""}</title>
                </text>
              </g>
            );
          })}
        </svg>
      </div>
    </figure>
  );
}

// Of a gRPC method its last name: "shop.CartService/GetCart" -> "GetCart".
function shortName(name: string, protocol: string): string {
  return protocol === "grpc" ? name.slice(name.lastIndexOf("/") + 1) : name;
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}\u2026`;
}
