// The picture of a domain: chips and switches, links as wide as their bandwidth, and what is marked among them.
import { useMemo, useRef, useState } from "preact/hooks";
import { number } from "../words";
import { ball, box, type Layout, type Part, type Point, RADIUS, type Wire, type Wiring } from "./layout";

export interface Marks {
  /** Links in the way that the chosen answer goes or cuts. */
  links: Set<string>;
  /** Chips and switches on the way. */
  nodes: Set<string>;
  /** The chips of one half. */
  side: Set<string>;
  /** Hops from the chosen chip. */
  hops: Map<string, number>;
  cut: boolean;
}

export const NOTHING: Marks = { links: new Set(), nodes: new Set(), side: new Set(), hops: new Map(), cut: false };

interface Props {
  id: string;
  wiring: Wiring;
  layout: Layout;
  marks: Marks;
  chosen: string[];
  /** What carries nothing. */
  lost: Set<string>;
  pick: (address: string) => void;
  toggle: (address: string) => void;
  /** Whether a plain click takes down too. */
  breaking: boolean;
  turn?: ((dx: number, dy: number) => void) | undefined;
}

const STUB = 24;
const CARRYING = new Set(["up", "degraded"]);

export function WiringPicture({ id, wiring, layout, marks, chosen, lost, pick, toggle, breaking, turn }: Props) {
  const [focus, setFocus] = useState(wiring.parts[0]?.address);
  const dragged = useRef<Point | null>(null);
  const root = useRef<SVGSVGElement>(null);
  const view = turn ? ball(wiring, 44) : box(layout, 44);
  const classes = useMemo(() => bandwidths(wiring), [wiring]);
  const wide = classes[0] ?? 1;

  const press = (address: string) => (event: MouseEvent) => {
    const part = wiring.parts.find((each) => each.address === address);
    if (event.shiftKey || breaking) toggle(address);
    else if (part?.kind === "chip") pick(address);
    if (part) setFocus(address);
  };
  const type = (part: Part) => (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const arrow = ARROWS[event.key];
    if (arrow) {
      const next = nearest(wiring.parts, layout, part.address, arrow);
      setFocus(next);
      root.current?.querySelector<SVGElement>(`[data-at="${next}"]`)?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      if (event.shiftKey || breaking) toggle(part.address);
      else if (part.kind === "chip") pick(part.address);
    } else if (event.key.toLowerCase() === "d") toggle(part.address);
    else return;
    event.preventDefault();
  };
  const drag = (event: PointerEvent) => {
    if (!dragged.current || !turn) return;
    turn(event.clientX - dragged.current.x, event.clientY - dragged.current.y);
    dragged.current = { x: event.clientX, y: event.clientY };
  };

  const line = (wire: Wire) => {
    const marked = marks.links.has(wire.address);
    const off = lost.has(wire.address);
    const names = ["wire", `w${classes.indexOf(wire.nominal) % 4}`];
    if (marked) names.push(marks.cut ? "cut" : "path");
    if (off) names.push("off");
    else if (wire.state === "degraded") names.push("degraded");
    const width = marked ? 5 : 1 + (2.5 * wire.nominal) / wide;
    const shapes = strokes(layout, wire, wiring.wrapping.has(wire.address));
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard the tables of links do the same
      <g key={wire.address} class={names.join(" ")} onClick={press(wire.address)}>
        <title>{`${wire.address}: ${number(wire.now)} GB/s one direction, ${wire.technology}${off ? ", carries nothing" : wire.state === "up" ? "" : `, ${wire.state}`}`}</title>
        {shapes.map((ends, at) => (
          <line key={at} {...ends} stroke-width={width} />
        ))}
        {shapes.map((ends, at) => (
          <line key={`hit${at}`} {...ends} class="hit" data-page="" />
        ))}
      </g>
    );
  };
  const rank = (wire: Wire) => (marks.links.has(wire.address) ? 1 : 0);
  const depth = (part: Part) => (chosen.includes(part.address) ? 1e6 : 0) + (layout.get(part.address)?.depth ?? 0);
  const nearer = (a: Part, b: Part) => depth(a) - depth(b);

  return (
    // biome-ignore lint/a11y/useSemanticElements: a picture has no fieldset
    <svg
      id={id}
      ref={root}
      class={`wiring${turn ? " turns" : ""}`}
      viewBox={`${view.x} ${view.y} ${view.width} ${view.height}`}
      role="group"
      aria-label={`Wiring of ${wiring.domain}. Arrow keys move between chips, Enter chooses, D takes down.`}
      onPointerDown={(event) => {
        dragged.current = { x: event.clientX, y: event.clientY };
      }}
      onPointerMove={drag}
      onPointerUp={() => {
        dragged.current = null;
      }}
      onPointerLeave={() => {
        dragged.current = null;
      }}
    >
      <title>{wiring.domain}</title>
      {[...wiring.wires].sort((a, b) => rank(a) - rank(b)).map(line)}
      {[...wiring.parts].sort(nearer).map((part) => (
        <Node
          key={part.address}
          part={part}
          at={layout.get(part.address) as Point}
          classes={[
            part.kind,
            chosen.includes(part.address) ? "chosen" : "",
            marks.nodes.has(part.address) ? "path" : "",
            marks.side.has(part.address) ? "side" : "",
            marks.hops.has(part.address) ? `hop h${Math.min(marks.hops.get(part.address) ?? 0, 6)}` : "",
            lost.has(part.address) ? "off" : "",
            part.state === "up" ? "" : part.state,
          ]}
          pressed={chosen.includes(part.address)}
          tab={part.address === focus}
          press={press(part.address)}
          type={type(part)}
          says={`${part.kind} ${part.address}, ${lost.has(part.address) && CARRYING.has(part.state) ? "supposed down" : part.state}`}
        />
      ))}
      {labels(wiring, layout)}
    </svg>
  );
}

interface NodeProps {
  part: Part;
  at: Point;
  classes: string[];
  pressed: boolean;
  tab: boolean;
  press: (event: MouseEvent) => void;
  type: (event: KeyboardEvent) => void;
  says: string;
}

function Node({ part, at, classes, pressed, tab, press, type, says }: NodeProps) {
  const chip = part.kind === "chip";
  return (
    // biome-ignore lint/a11y/useSemanticElements: a picture has no buttons
    <g
      class={classes.filter(Boolean).join(" ")}
      role="button"
      aria-pressed={pressed}
      aria-label={says}
      tabindex={tab ? 0 : -1}
      data-at={part.address}
      onClick={press}
      onKeyDown={type}
    >
      <title>{says}</title>
      {chip && <circle class="near" cx={fixed(at.x)} cy={fixed(at.y)} r={2 * RADIUS} data-page="" />}
      {chip ? (
        <circle cx={fixed(at.x)} cy={fixed(at.y)} r={RADIUS} />
      ) : (
        <rect x={fixed(at.x - 17)} y={fixed(at.y - 9)} width="34" height="18" rx="3" />
      )}
      <text x={fixed(at.x)} y={fixed(at.y + 4)}>
        {chip ? part.ordinal : `sw${part.ordinal}`}
      </text>
    </g>
  );
}

const ARROWS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** The part next to one in a direction of the picture. */
function nearest(parts: Part[], layout: Layout, from: string, [dx, dy]: [number, number]): string {
  const here = layout.get(from) as Point;
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (const { address } of parts) {
    const there = layout.get(address) as Point;
    const along = (there.x - here.x) * dx + (there.y - here.y) * dy;
    const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
    if (along > 1 && along + 3 * aside < least) [best, least] = [address, along + 3 * aside];
  }
  return best;
}

export const fixed = (value: number) => value.toFixed(1);

/** Distinct bandwidths, the widest first. */
export const bandwidths = ({ wires }: Wiring) => [...new Set(wires.map((wire) => wire.nominal))].sort((a, b) => b - a);

interface Line {
  x1: string;
  y1: string;
  x2: string;
  y2: string;
}

/** A line between two parts; one that wraps around is a stub at either end. */
function strokes(layout: Layout, { a, b }: Wire, wraps: boolean): Line[] {
  const [from, to] = [layout.get(a) as Point, layout.get(b) as Point];
  const line = (one: Point, two: Point): Line => ({
    x1: fixed(one.x),
    y1: fixed(one.y),
    x2: fixed(two.x),
    y2: fixed(two.y),
  });
  if (!wraps) return [line(from, to)];
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const part = STUB / Math.max(Math.hypot(dx, dy), 1);
  return [
    line(from, { x: from.x - dx * part, y: from.y - dy * part }),
    line(to, { x: to.x + dx * part, y: to.y + dy * part }),
  ];
}

/** The name of each server above its chip 0. */
function labels(wiring: Wiring, layout: Layout) {
  return wiring.parts.flatMap((part) => {
    if (part.kind !== "chip" || part.ordinal) return [];
    const at = layout.get(part.address) as Point;
    return (
      <text key={part.server} class="label" x={fixed(at.x - RADIUS)} y={fixed(at.y - RADIUS - 8)}>
        {`server ${part.server}`}
      </text>
    );
  });
}
