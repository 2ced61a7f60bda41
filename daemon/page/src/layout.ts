// Where the services of the map stand, and how their edges run.
//
// dagre puts services and labels into columns, and leaves a place in each column that an edge crosses. An
// edge crosses a column in its place, straight and level, and bends only between columns, where nothing
// stands: so no edge runs through a box, or through a label of another edge.
import { Graph, layout } from "@dagrejs/dagre";

export interface Box {
  name: string;
  x: number; // of its left upper corner, as those of a label are
  y: number;
  width: number;
  height: number;
}
export interface Label {
  x: number;
  y: number;
  width: number;
  height: number;
}
export interface Route {
  way: string; // path of the line
  head: string; // path of the arrow's head
  label: Label;
}
export interface Placed {
  boxes: Box[];
  routes: Route[]; // one for each edge, in their order
  width: number;
  height: number;
}
export interface Link {
  from: string;
  to: string;
  label: { width: number; height: number };
}

const between = 36; // px between two columns
const margin = 12;
const head = 8; // px, length of an arrow's head
const port = 9; // px between two ends at one side of a box

interface Point {
  x: number;
  y: number;
}
interface Column {
  left: number;
  right: number;
}

export function boxHeight(lines: number, ends: number): number {
  return Math.max(18 + 16 * lines, 14 + port * ends);
}

export function place(boxes: { name: string; width: number; height: number }[], links: Link[]): Placed {
  const graph = new Graph({ multigraph: true });
  // dagre halves `ranksep`, since it puts the labels into columns of their own.
  graph.setGraph({ rankdir: "LR", nodesep: 16, edgesep: 10, ranksep: 2 * between, marginx: margin, marginy: margin });
  graph.setDefaultEdgeLabel(() => ({}));
  // dagre knows the boxes by their places: a name may hold any character.
  const ids = new Map(boxes.map((box, i) => [box.name, `${i}`]));
  for (const box of boxes) graph.setNode(ids.get(box.name)!, { width: box.width, height: box.height });
  links.forEach((link, i) => {
    // The loop of a service that calls itself goes around its label.
    const loop = link.from === link.to ? 16 : 0;
    graph.setEdge(ids.get(link.from)!, ids.get(link.to)!, { width: link.label.width, height: link.label.height + loop, labelpos: "c" }, `${i}`);
  });
  layout(graph as never);

  const placed = boxes.map((box): Box => {
    const { x, y } = graph.node(ids.get(box.name)!) as unknown as Point;
    return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
  });
  const byName = new Map(placed.map((box) => [box.name, box]));
  const edges = links.map((link, i) => graph.edge(ids.get(link.from)!, ids.get(link.to)!, `${i}`) as unknown as Point & { points: Point[] });
  const columns = columnsOf(placed, links, edges);
  const ends = new Ends();
  const ways = links.map((link, i) => {
    const from = byName.get(link.from)!, to = byName.get(link.to)!;
    const label = { x: edges[i]!.x - link.label.width / 2, y: edges[i]!.y - link.label.height / 2, ...link.label };
    if (from === to) return { label, from, to, points: [] as Point[], forward: true };
    const points = edges[i]!.points.slice(1, -1); // dagre's own ends lie on the boxes' borders
    const forward = middle(to).x >= middle(from).x;
    ends.add(from, forward ? "right" : "left", i, "out", points[0] ?? middle(to));
    ends.add(to, forward ? "left" : "right", i, "in", points[points.length - 1] ?? middle(from));
    return { label, from, to, points, forward };
  });
  const at = ends.places();
  const routes = ways.map(({ label, from, to, points, forward }, i): Route => {
    if (from === to) return { label, ...loop(from, label) };
    const out = at.get(`${i} out`)!, into = at.get(`${i} in`)!;
    return { label, ...route(out, points, into, forward, columns) };
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { boxes: placed, routes, width: Math.ceil(width), height: Math.ceil(height) };
}

function middle(box: Box): Point {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

const key = (x: number) => Math.round(x);

// All that stands in a column has the same middle.
function columnsOf(boxes: Box[], links: Link[], edges: Point[]): Map<number, Column> {
  const columns = new Map<number, Column>();
  const widen = (x: number, width: number) => {
    const column = columns.get(key(x));
    if (!column) columns.set(key(x), { left: x - width / 2, right: x + width / 2 });
    else {
      column.left = Math.min(column.left, x - width / 2);
      column.right = Math.max(column.right, x + width / 2);
    }
  };
  for (const box of boxes) widen(box.x + box.width / 2, box.width);
  links.forEach((link, i) => widen(edges[i]!.x, link.label.width));
  return columns;
}

// The ends of edges at each side of each box, spread in the order of where they come from.
class Ends {
  private readonly sides = new Map<string, { box: Box; x: number; ends: { key: string; toward: Point }[] }>();

  add(box: Box, side: "left" | "right", edge: number, end: "out" | "in", toward: Point) {
    const key = `${side} ${box.name}`;
    let found = this.sides.get(key);
    if (!found) this.sides.set(key, (found = { box, x: side === "left" ? box.x : box.x + box.width, ends: [] }));
    found.ends.push({ key: `${edge} ${end}`, toward });
  }

  places(): Map<string, Point> {
    const out = new Map<string, Point>();
    for (const { box, x, ends } of this.sides.values()) {
      ends.sort((a, b) => a.toward.y - b.toward.y);
      const step = Math.min(2 * port, (box.height - 12) / Math.max(1, ends.length - 1));
      const first = box.y + box.height / 2 - (step * (ends.length - 1)) / 2;
      ends.forEach((end, i) => out.set(end.key, { x, y: first + i * step }));
    }
    return out;
  }
}

function route(out: Point, points: Point[], into: Point, forward: boolean, columns: Map<number, Column>): { way: string; head: string } {
  const sign = forward ? 1 : -1;
  const columnOf = (x: number): Column => columns.get(key(x)) ?? columns.get(key(x) - 1) ?? columns.get(key(x) + 1) ?? { left: x, right: x };
  const boxed = (x: number): Column => [...columns.values()].find((column) => column.left <= x + 1 && x - 1 <= column.right) ?? { left: x, right: x };
  const near = (column: Column) => (forward ? column.left : column.right);
  const far = (column: Column) => (forward ? column.right : column.left);
  const last = into.x - sign * head;
  let x = far(boxed(out.x)), y = out.y;
  let way = `M${out.x} ${y}H${x}`;
  const bend = (toX: number, toY: number) => {
    const half = (x + toX) / 2;
    way += y === toY ? `H${toX}` : `C${half} ${y} ${half} ${toY} ${toX} ${toY}`;
    y = toY;
  };
  for (const point of points) {
    const column = columnOf(point.x);
    bend(near(column), point.y);
    x = far(column);
    way += `H${x}`;
  }
  const end = boxed(into.x);
  bend(forward ? Math.min(near(end), last) - 1 : Math.max(near(end), last) + 1, into.y);
  way += `H${last}`;
  return { way, head: `M${into.x} ${into.y}l${-sign * head} -4v8z` };
}

// A service that calls itself: out of the bottom of its box, around the label, and back.
function loop(box: Box, label: Label): { way: string; head: string } {
  const bottom = box.y + box.height, under = label.y + label.height + 6;
  const half = Math.min(label.width / 2 + 8, box.width / 2 - 4), x = box.x + box.width / 2;
  return {
    way: `M${x - half} ${bottom}V${under - 6}Q${x - half} ${under} ${x - half + 6} ${under}H${x + half - 6}Q${x + half} ${under} ${x + half} ${under - 6}V${bottom + head}`,
    head: `M${x + half} ${bottom}l-4 ${head}h8z`,
  };
}
