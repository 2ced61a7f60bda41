// Where operations stand: a row for each process, and a time axis that counts events.
import type { Call, Order } from "./data";

export const rowHeight = 36, barTop = 4, barHeight = 20; // px
export const markerAt = barTop + barHeight + 4; // px below the top of a row: the middle of a marker
const quietSlot = 0.6; // units between two events where nothing takes effect
const markerUnits = 0.8; // units for each of several that take effect between two events
const barWidth = 64; // px that nine of ten bars are to have, so that their texts are read

export interface Bar {
  call: number;
  row: number;
  begin: number; // units
  end: number;
  open: boolean; // its end is not known
}

// A point at which an operation takes effect.
export interface Point {
  call: number;
  place: number; // in the order, from 1; of the one that is stuck, behind the last
  stuck: boolean;
  at: number; // units
  row: number;
}

export interface Plan {
  rows: string[]; // the processes
  bars: Bar[]; // by row, and by begin in it
  barOf: Map<number, Bar>;
  points: Point[];
  pointOf: Map<number, Point>;
  units: number;
  short: number; // units of a bar than which nine of ten are longer
}

// Each takes effect as early as the order lets it. The slot of an event is the time until the next event.
function slotsOf(calls: Call[], order: Order | undefined, rank: Map<number, number>): { number: number; slot: number; stuck: boolean }[] {
  const out: { number: number; slot: number; stuck: boolean }[] = [];
  let now = 0;
  const put = (number: number, stuck: boolean) => {
    const call = calls[number];
    if (!call) return;
    now = Math.max(now, rank.get(call.call) ?? 0);
    const latest = call.end === null ? now : Math.max(rank.get(call.call) ?? 0, (rank.get(call.end) ?? now + 1) - 1);
    out.push({ number, slot: Math.min(now, latest), stuck });
  };
  for (const number of order?.calls ?? []) put(number, false);
  if (order && order.stuck !== null) put(order.stuck, true);
  return out;
}

export function planOf(calls: Call[], shown: number[], order: Order | undefined): Plan {
  const rows = [...new Set(shown.map((number) => calls[number]!.process))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const rowOf = new Map(rows.map((process, row) => [process, row]));
  const events = [...new Set(shown.flatMap((number) => [calls[number]!.call, calls[number]!.end ?? calls[number]!.call]))].sort((a, b) => a - b);
  const rank = new Map(events.map((event, at) => [event, at]));

  const slots = slotsOf(calls, order, rank);
  const inSlot = new Array<number>(events.length).fill(0);
  for (const { slot } of slots) ++inSlot[slot]!;
  // Where several take effect between the same two events, time is drawn wider, and where an operation has no event within it.
  const atLeast = new Array<number>(events.length).fill(quietSlot);
  for (const number of shown) {
    const { call, end } = calls[number]!, slot = rank.get(call)!;
    if (end !== null && rank.get(end) === slot + 1) atLeast[slot] = 1;
  }
  const begins: number[] = [0];
  for (const [at, many] of inSlot.entries()) begins.push(begins[at]! + (many === 0 ? atLeast[at]! : Math.max(1, many * markerUnits)));
  const units = begins[events.length]! + quietSlot;

  const bars = shown.map((number): Bar => {
    const call = calls[number]!;
    return {
      call: number,
      row: rowOf.get(call.process)!,
      begin: begins[rank.get(call.call)!]!,
      end: call.end === null ? units : begins[rank.get(call.end)!]!,
      open: call.end === null,
    };
  }).sort((a, b) => a.row - b.row || a.begin - b.begin);
  const barOf = new Map(bars.map((bar) => [bar.call, bar]));

  const used = new Array<number>(events.length).fill(0);
  const points = slots.flatMap(({ number, slot, stuck }, at): Point[] => {
    const bar = barOf.get(number);
    if (!bar) return [];
    const share = (used[slot]!++ + 0.5) / inSlot[slot]!;
    return [{ call: number, place: at + 1, stuck, at: begins[slot]! + share * (begins[slot + 1]! - begins[slot]!), row: bar.row }];
  });
  const closed = bars.filter((bar) => !bar.open).map((bar) => bar.end - bar.begin).sort((a, b) => a - b);
  return { rows, bars, barOf, points, pointOf: new Map(points.map((point) => [point.call, point])), units, short: closed[Math.floor(closed.length / 10)] ?? 1 };
}

const least = 0.05, widest = 240, readable = 14, filled = 160; // px for each unit
const mostPixels = 12_000_000; // browsers limit the width of an element (virtual.tsx)

export interface Scales {
  least: number;
  most: number;
  first: number; // at which texts are read, or which fills the room
  whole: number; // at which the whole fits into the room
}

// How many pixels a unit has.
export function scalesOf(plan: Plan, room: number): Scales {
  const whole = Math.max(least, room / plan.units);
  const most = Math.min(widest, mostPixels / plan.units);
  const read = Math.min(filled, Math.max(readable, barWidth / plan.short));
  return { least: Math.min(whole, read, most), most, first: Math.min(most, Math.max(read, Math.min(whole, filled))), whole: Math.min(whole, most) };
}

// The operation that an arrow key leads to: the next one of the process, or the one of the row beside that is nearest in time.
export function neighbour(plan: Plan, call: number, key: string): number | undefined {
  const from = plan.barOf.get(call);
  if (!from) return plan.bars[0]?.call;
  const at = plan.bars.indexOf(from);
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const next = plan.bars[at + (key === "ArrowRight" ? 1 : -1)];
    return next?.row === from.row ? next.call : undefined;
  }
  const row = from.row + (key === "ArrowDown" ? 1 : -1);
  let best: Bar | undefined;
  const away = (bar: Bar) => Math.abs(bar.begin - from.begin);
  for (const bar of plan.bars) if (bar.row === row && (!best || away(bar) < away(best))) best = bar;
  return best?.call;
}
