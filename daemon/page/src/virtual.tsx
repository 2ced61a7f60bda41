// A list of rows of one height, of which only those are drawn that are seen.
import { type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const beyond = 8; // rows drawn above and below what is seen
// Browsers limit the height of an element; Firefox has the least, about 17,800,000 pixels.
const mostPixels = 15_000_000;

interface Props {
  count: number;
  height: number; // of a row, in pixels
  label: string;
  className?: string;
  role?: "list" | "region" | "table";
  head?: ComponentChildren;
  focus?: number; // the row to bring into view when it changes
  row: (index: number, top: number) => ComponentChildren;
}

export function VirtualRows({ count, height, label, className, role, head, focus, row }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ first: 0, last: 40 });
  const rows = Math.min(count, Math.floor(mostPixels / height));

  const look = () => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / height) - beyond);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / height) + beyond;
    setSeen((old) => (old.first === first && old.last === last ? old : { first, last }));
  };
  useLayoutEffect(look, [count, height]);
  useEffect(() => {
    const watcher = new ResizeObserver(look);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element || focus === undefined || focus < 0) return;
    const top = focus * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + element.clientHeight) element.scrollTop = top + height - element.clientHeight;
  }, [focus]);

  const drawn: ComponentChildren[] = [];
  for (let i = seen.first; i < Math.min(rows, seen.last); ++i) drawn.push(row(i, i * height));
  return (
    <div ref={box} class={`virtual ${className ?? ""}`} onScroll={look} tabIndex={0} role={role ?? "region"} aria-label={label}>
      {head}
      <div class="virtual-rows" style={{ height: `${rows * height}px` }}>
        {drawn}
      </div>
    </div>
  );
}
