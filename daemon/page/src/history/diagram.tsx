// Operations over time: a row for each process, a bar for each operation, and the order in which they took effect as
// numbers along a line. Only what is seen is drawn, so that thousands of operations cost no more than a screen of them.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { oneLine } from "../parts";
import { textWidth } from "../text";
import type { Call, Order } from "./data";
import { callText, cut } from "./data";
import { barHeight, barTop, markerAt, neighbour, planOf, rowHeight, scalesOf, type Bar, type Plan, type Point } from "./layout";
import { spoken } from "./words";

const beyond = 200; // px drawn beside what is seen
const stride = 120; // px of scrolling behind which other operations are drawn
const dense = 6; // px of a unit below which the line is thin
const longestText = 120; // characters in a bar; the line below the diagram has the whole
const markerHeight = 14, digit = 6.2, leastText = 30; // px
const arrows = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

// An operation that is looked at. `reveal` counts how often the diagram was asked to show where it is.
export interface Choice {
  call: number | null;
  reveal: number;
}

interface Props {
  calls: Call[];
  shown: number[];
  order: Order | undefined;
  marked: ReadonlySet<number>; // calls of problems
  choice: Choice;
  choose: (call: number, reveal: boolean) => void;
  point: (call: number | null) => void; // the mouse is at it
  label: string;
}

interface View {
  left: number; // what is scrolled, in whole strides
  top: number;
  width: number;
  height: number;
}

export function Diagram({ calls, shown, order, marked, choice, choose, point, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ left: 0, top: 0, width: 0, height: 0 });
  const plan = useMemo(() => planOf(calls, shown, order), [calls, shown, order]);
  const names = useMemo(() => Math.min(view.width < 500 ? 72 : 140, Math.max(28, ...plan.rows.slice(0, 2000).map((process) => textWidth(oneLine(process)))) + 18), [plan, view.width < 500]);
  const room = Math.max(100, view.width - names);
  const scales = scalesOf(plan, room);
  const [wanted, setWanted] = useState<number | null>(null); // null: as fits this history
  const scale = Math.min(scales.most, Math.max(scales.least, wanted ?? scales.first));
  const anchor = useRef<{ units: number; px: number } | null>(null); // what stays where it is when the scale changes
  const focuses = useRef(false); // the chosen one gets the focus as soon as it is drawn

  const look = () => {
    const element = box.current;
    if (!element) return;
    const { clientWidth: width, clientHeight: height } = element;
    const left = Math.floor(element.scrollLeft / stride) * stride, top = Math.floor(element.scrollTop / stride) * stride;
    setView((old) => (old.left === left && old.top === top && old.width === width && old.height === height ? old : { left, top, width, height }));
  };
  useLayoutEffect(() => {
    if (box.current && anchor.current) box.current.scrollLeft = anchor.current.units * scale - anchor.current.px;
    anchor.current = null;
    look();
  }, [scale, plan]);
  const zoom = (to: number, px = room / 2) => {
    const element = box.current;
    if (element) anchor.current = { units: (element.scrollLeft + px) / scale, px };
    setWanted(Math.min(scales.most, Math.max(scales.least, to)));
  };
  const zoomNow = useRef(zoom);
  zoomNow.current = zoom;
  const scaleNow = useRef(scale);
  scaleNow.current = scale;
  useEffect(() => {
    const element = box.current!;
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    // Preact's handlers of wheels are passive, and a page cannot keep the browser's own zoom away in those.
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomNow.current(scaleNow.current * Math.exp(-event.deltaY / 400), event.clientX - element.getBoundingClientRect().left - names);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watcher.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, [names]);

  // Brings the chosen operation into what is seen, at the point where it takes effect.
  useEffect(() => {
    const element = box.current, bar = choice.call === null ? undefined : plan.barOf.get(choice.call);
    if (!element || !bar || view.width === 0) return;
    const x = (plan.pointOf.get(bar.call)?.at ?? bar.begin) * scale, y = bar.row * rowHeight;
    if (x < element.scrollLeft + 10 || x > element.scrollLeft + room - 60) element.scrollLeft = x - room / 2;
    if (y < element.scrollTop) element.scrollTop = y - rowHeight;
    else if (y + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = y + 2 * rowHeight - element.clientHeight;
    look();
  }, [choice.reveal, view.width === 0, plan]);
  useEffect(() => {
    if (!focuses.current) return;
    const element = box.current?.querySelector<HTMLElement>(`[data-call="${choice.call}"]`);
    if (!element) return;
    focuses.current = false;
    element.focus({ preventScroll: true });
  });

  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "-") zoom(scale * (event.key === "+" ? 1.5 : 1 / 1.5));
    else if (arrows.includes(event.key) && event.target !== box.current) {
      const to = choice.call === null ? undefined : neighbour(plan, choice.call, event.key);
      if (to !== undefined) {
        focuses.current = true;
        choose(to, true);
      }
    } else return;
    event.preventDefault();
  };

  const seen = seenOf(plan, view, scale, names);
  const reached = seen.bars.some((bar) => bar.call === choice.call) ? choice.call : seen.bars[0]?.call; // what Tab leads to
  const chosen = choice.call === null ? undefined : plan.barOf.get(choice.call);
  const whole = scales.whole < scale * 0.99 || scales.whole > scale * 1.01;
  return (
    <div class="diagram">
      <div class="zoom" role="group" aria-label="Width of the diagram">
        <button type="button" aria-label="Narrower" onClick={() => zoom(scale / 1.5)} disabled={scale <= scales.least}>{"\u2212"}</button>
        <button type="button" aria-label="Wider" onClick={() => zoom(scale * 1.5)} disabled={scale >= scales.most}>+</button>
        <button type="button" onClick={() => zoom(scales.whole)} disabled={!whole}>all</button>
        <button type="button" onClick={() => zoom(scales.first)} disabled={scale === scales.first}>readable</button>
        <span class="quiet">Time goes from left to right and counts events, not seconds. Ctrl and the wheel change the width.</span>
      </div>
      <div ref={box} class="lanes" tabIndex={0} role="region" aria-label={label} onScroll={look} onKeyDown={press} onMouseLeave={() => point(null)}>
        <div class="plane" style={{ width: `${names + plan.units * scale}px`, height: `${plan.rows.length * rowHeight}px` }}>
          {seen.rows.map((row) => (
            <div key={`row ${row}`} class={row % 2 === 1 ? "lane odd" : "lane"} style={{ top: `${row * rowHeight}px` }}>
              <span class="who" style={{ width: `${names}px` }} title={`process ${oneLine(plan.rows[row]!)}`}><span class="clip">{oneLine(plan.rows[row]!)}</span></span>
            </div>
          ))}
          {chosen && <div class="span-of" style={{ left: `${names + chosen.begin * scale}px`, width: `${chosen.open ? Math.max(room, plan.units * scale) - chosen.begin * scale : (chosen.end - chosen.begin) * scale}px` }} />}
          <Line points={seen.line} scale={scale} names={names} left={seen.left} width={seen.width} height={plan.rows.length * rowHeight} />
          {seen.bars.map((bar) => (
            <OneBar key={bar.call} bar={bar} call={calls[bar.call]!} place={plan.pointOf.get(bar.call)} ordered={order !== undefined} scale={scale} end={Math.max(room, plan.units * scale)}
              names={names} begun={bar.begin * scale < view.left + stride} marked={marked.has(bar.call)} chosen={bar.call === choice.call} reached={bar.call === reached} choose={choose} point={point} />
          ))}
          {seen.points.map((one) => <Marker key={`point ${one.call}`} point={one} bar={plan.barOf.get(one.call)!} scale={scale} names={names} chosen={one.call === choice.call} />)}
        </div>
      </div>
    </div>
  );
}

interface Seen {
  rows: number[];
  bars: Bar[];
  points: Point[];
  line: Point[]; // with the nearest ones that are not seen
  left: number; // px from where the names end
  width: number;
}

function seenOf(plan: Plan, view: View, scale: number, names: number): Seen {
  const left = Math.max(0, view.left - beyond), right = Math.min(plan.units * scale, view.left + stride + view.width - names + beyond);
  const top = Math.floor((view.top - beyond) / rowHeight), bottom = Math.ceil((view.top + stride + view.height + beyond) / rowHeight);
  const rows: number[] = [];
  for (let row = Math.max(0, top); row < Math.min(plan.rows.length, bottom); ++row) rows.push(row);
  const inRows = (row: number) => row >= top && row < bottom;
  const line: Point[] = [];
  for (const [at, one] of plan.points.entries()) {
    const x = one.at * scale;
    if ((x >= left && x <= right) || ((plan.points[at + 1]?.at ?? -1) * scale >= left && x <= right) || ((plan.points[at - 1]?.at ?? Infinity) * scale <= right && x >= left)) line.push(one);
  }
  return {
    rows,
    bars: plan.bars.filter((bar) => inRows(bar.row) && bar.begin * scale <= right && bar.end * scale >= left),
    points: line.filter((one) => inRows(one.row)),
    line, left, width: Math.max(0, right - left),
  };
}

// Behind the bars, so that it hides no text. What leads to the one that is stuck is drawn apart.
function Line({ points, scale, names, left, width, height }: { points: Point[]; scale: number; names: number; left: number; width: number; height: number }) {
  if (points.length < 2 || width === 0) return null;
  const text = (row: Point) => `${(row.at * scale - left).toFixed(1)},${row.row * rowHeight + markerAt}`;
  const placed = points.filter((row) => !row.stuck), stuck = points.find((row) => row.stuck), last = placed[placed.length - 1];
  return (
    <svg class={scale < dense ? "line thin" : "line"} width={width} height={height} viewBox={`0 0 ${width} ${height}`} style={{ left: `${names + left}px` }} aria-hidden="true">
      <polyline points={placed.map(text).join(" ")} />
      {stuck && last && <polyline class="to-stuck" points={`${text(last)} ${text(stuck)}`} />}
    </svg>
  );
}

interface BarProps {
  bar: Bar;
  call: Call;
  place: Point | undefined;
  ordered: boolean;
  scale: number;
  end: number; // px at which the diagram ends
  names: number;
  begun: boolean; // left of what is seen, or soon
  marked: boolean;
  chosen: boolean;
  reached: boolean;
  choose: Props["choose"];
  point: Props["point"];
}

function OneBar({ bar, call, place, ordered, scale, end, names, begun, marked, chosen, reached, choose, point }: BarProps) {
  const width = bar.open ? Math.max(3, end - bar.begin * scale) : Math.max(3, (bar.end - bar.begin) * scale - 1);
  const text = cut(callText(call), longestText);
  const kind = `${call.outcome}${bar.open ? " endless" : ""}${place?.stuck ? " stuck" : place ? " placed" : ordered ? " apart" : ""}${marked ? " marked" : ""}${chosen ? " chosen" : ""}`;
  const where = place ? (place.stuck ? "it cannot be placed" : `number ${place.place} in the order`) : ordered ? "not placed" : "";
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(bar.call, false);
  };
  return (
    <div class={`operation ${kind}`} data-call={bar.call} role="button" aria-pressed={chosen} tabIndex={reached ? 0 : -1} aria-label={spoken(call, text, where)}
      style={{ left: `${names + bar.begin * scale}px`, top: `${bar.row * rowHeight + barTop}px`, width: `${width}px`, height: `${barHeight}px` }}
      onClick={() => choose(bar.call, false)} onFocus={() => { if (!chosen) choose(bar.call, false); }} onKeyDown={press} onMouseEnter={() => point(bar.call)}>
      {width >= leastText && <span class={begun ? "stays" : ""} style={{ left: begun ? `${names}px` : "auto" }}>{text}</span>}
    </div>
  );
}

// On the lower edge of its bar, where it hides no text; without its number where the bar has no room for that.
function Marker({ point, bar, scale, names, chosen }: { point: Point; bar: Bar; scale: number; names: number; chosen: boolean }) {
  const text = point.stuck ? "\u2717" : `${point.place}`;
  const width = Math.max(markerHeight, text.length * digit + 7);
  const whole = point.stuck || chosen || (bar.end - bar.begin) * scale >= width + 12;
  const size = whole ? [width, markerHeight] as const : [5, 5] as const;
  const x = names + point.at * scale, y = point.row * rowHeight + markerAt;
  return (
    <span class={`place${point.stuck ? " stuck" : ""}${chosen ? " chosen" : ""}`} aria-hidden="true"
      style={{ left: `${x - size[0] / 2}px`, top: `${y - size[1] / 2}px`, width: `${size[0]}px`, height: `${size[1]}px` }}>{whole ? text : ""}</span>
  );
}
