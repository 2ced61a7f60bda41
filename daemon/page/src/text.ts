// Text in diagrams, whose lines SVG does not break by itself.

export const diagramFont = "12px system-ui, sans-serif"; // styles/diagrams.css has the same
export const diagramBold = "600 12px system-ui, sans-serif";

let canvas: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

// In pixels.
export function textWidth(text: string, font = diagramFont): number {
  const key = `${font}\n${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  canvas ??= document.createElement("canvas").getContext("2d");
  if (canvas) canvas.font = font;
  const width = canvas ? canvas.measureText(text).width : text.length * 8;
  if (widths.size > 20_000) widths.clear();
  widths.set(key, width);
  return width;
}

// The longest beginning that is no wider than `width`, one character at least.
function fitting(text: string, width: number, font: string): number {
  let most = text.length;
  if (textWidth(text, font) <= width) return most;
  let least = 1;
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    if (textWidth(text.slice(0, middle), font) <= width) least = middle;
    else most = middle - 1;
  }
  return least;
}

// Behind a blank or a sign of names and queries, and before a part of a path.
function breaks(text: string, at: number): boolean {
  return /[ ?&=,;:._-]/.test(text[at - 1] ?? "") || (text[at] === "/" && text[at - 1] !== "/");
}

// Lines of at most `width` pixels, broken where a name or a path has a joint.
// What `most` lines cannot hold ends with an ellipsis.
export function wrapped(text: string, width: number, most: number, font = diagramFont): string[] {
  const lines: string[] = [];
  let left = text;
  while (left) {
    const end = fitting(left, width, font);
    if (end === left.length) {
      lines.push(left);
      break;
    }
    if (lines.length === most - 1) {
      lines.push(`${left.slice(0, fitting(left, width - textWidth("\u2026", font), font)).trimEnd()}\u2026`);
      break;
    }
    let at = end;
    while (at > 0 && !breaks(left, at)) --at;
    if (at <= end / 3) at = end;
    lines.push(left.slice(0, at).trimEnd());
    left = left.slice(at).trimStart();
  }
  return lines;
}
