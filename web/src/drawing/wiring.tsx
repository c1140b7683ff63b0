// The picture of a domain: chips, switches, links as wide as their bandwidth, and marks of the answer.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { number, pluralize } from "../words";
import { endsOf, type Layout, type Part, type Place, type Point, type Route, type Wire, type Wiring } from "./layout";
import type { Letter } from "./letter";
import { fixed, Sign, sized } from "./marks";
import { neighborOf } from "./neighbors";
import { Node } from "./node";
import { useZoom } from "./zoom";

export interface Marks {
  /** Links of the selected answer: its path or its cut. */
  links: Set<string>;
  /** Chips and switches of the path. */
  nodes: Set<string>;
  /** The chips of one half. */
  side: Set<string>;
  /** Hops from the selected chip. */
  hops: Map<string, number>;
  /** Links of the best path without the scenario. */
  before: Set<string>;
  letters: Map<string, Letter>;
  cut: boolean;
}

export const NO_MARKS: Marks = {
  links: new Set(),
  nodes: new Set(),
  side: new Set(),
  hops: new Map(),
  before: new Set(),
  letters: new Map(),
  cut: false,
};

interface Props {
  id: string;
  wiring: Wiring;
  layout: Layout;
  marks: Marks;
  /** The ends From and To. */
  chosen: string[];
  /** To, which differs in its mark. */
  target: string;
  /** The part whose panel is open. */
  selected: string;
  /** Parts that carry nothing. */
  idle: Set<string>;
  /** For each link that carries nothing, the cause. */
  faults: Map<string, string>;
  /** Parts that the scenario degrades, with the fraction they carry. */
  derated: Set<string>;
  /** Make a chip From or To. */
  pick: (address: string) => void;
  /** Open a part's panel. */
  open: (address: string) => void;
  toggle: (address: string) => void;
  /** Whether a plain click assumes a part down. */
  breaking: boolean;
  turn?: ((dx: number, dy: number) => void) | undefined;
}

const CARRYING = new Set(["up", "degraded"]);
/** Degrees that one key press turns the picture. */
const TURN: Record<string, number> = { q: -15, e: 15 };
/** Minimum height of text on the screen, in pixels. */
const LEGIBLE = 11;

export function WiringPicture(props: Props) {
  const { id, wiring, layout, marks, chosen, idle, faults, derated, pick, open, toggle, breaking, turn } = props;
  const [focus, setFocus] = useState(wiring.parts[0]?.address);
  const [announcement, setTold] = useState("");
  const [near, setNear] = useState<string>();
  const root = useRef<SVGSVGElement>(null);
  const zoom = useZoom(root, layout.box, turn && ((dx, dy) => turn(dx / 2, dy / 2)));
  const classes = useMemo(() => bandwidths(wiring), [wiring]);
  const degrees = useMemo(() => linkCounts(wiring), [wiring]);
  useWheel(root, zoom.by);

  const press = (part: Part) => (event: MouseEvent) => {
    if (zoom.dragged()) return;
    if (event.shiftKey || breaking) toggle(part.address);
    else if (part.kind === "chip") pick(part.address);
    else open(part.address);
    setFocus(part.address);
  };
  const type = (part: Part) => (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const key = event.key.toLowerCase();
    const next = neighborOf(wiring.parts, layout, part, event);
    if (next) {
      setFocus(next);
      setTold(describePart(wiring.parts.find((part) => part.address === next) as Part, props, degrees));
      root.current?.querySelector<SVGElement>(`[data-at="${next}"]`)?.focus();
    } else if (key === "enter" || key === " ") {
      if (event.shiftKey || breaking) toggle(part.address);
      else if (part.kind === "chip") pick(part.address);
      else open(part.address);
    } else if (key === "i") open(part.address);
    else if (key === "d") toggle(part.address);
    else if (key === "+" || key === "=") zoom.by(1.4);
    else if (key === "-") zoom.by(1 / 1.4);
    else if (key === "0") zoom.reset();
    else if (turn && TURN[key]) turn(TURN[key], 0);
    else return;
    event.preventDefault();
  };

  const hasMarks = marks.links.size > 0;
  const wide = (wire: Wire) => layout.strokeWidth * Math.sqrt(wire.nominal / (classes[0] ?? 1));
  const far = (wire: Wire) => {
    const [a, b] = [layout.places.get(wire.a), layout.places.get(wire.b)];
    return (a?.depth ?? 0) + (b?.depth ?? 0);
  };
  const degraded = (wire: Wire) => isReduced(wire) || derated.has(wire.address);
  /** A changed look gets a new element: Chromium may keep the old look of an element that moves at the same time. */
  const line = (wire: Wire) => draw(wire, layout.routes.get(wire.address) as Route);
  const end = (wire: Wire) => draw(wire, endsOf(layout.routes.get(wire.address) as Route, layout, wire));
  const draw = (wire: Wire, route: Route) => {
    const marked = marks.before.has(wire.address)
      ? "before"
      : marks.links.has(wire.address)
        ? marks.cut
          ? "cut"
          : "path"
        : "";
    const state = idle.has(wire.address) ? "off" : degraded(wire) ? "degraded" : wire.state;
    return (
      <Line
        key={`${wire.address} ${marked} ${state}`}
        wire={wire}
        route={route}
        wide={wide(wire)}
        name={`w${classes.indexOf(wire.nominal) % 3}`}
        marked={marked}
        state={state}
        why={faults.get(wire.address)}
        near={near !== undefined && (wire.a === near || wire.b === near)}
        depth={turn && far(wire) / 2}
        press={(event) => {
          if (!zoom.dragged()) (event.shiftKey || breaking ? toggle : open)(wire.address);
        }}
      />
    );
  };
  /** Flat, idle links lie below the others, with which they share a bus; turned, unhealthy links lie above all. */
  const rank = (wire: Wire) =>
    idle.has(wire.address) ? (turn ? 30 : 0) : (degraded(wire) ? 20 : 10) + (turn ? far(wire) : 0);
  const sorted = [...wiring.wires].sort((a, b) => rank(a) - rank(b));
  const others = sorted.filter(({ address }) => !marks.links.has(address) && !marks.before.has(address));
  /** As clear with an answer as without one. */
  const idleLines = others.filter(({ address }) => idle.has(address)).map(line);
  const height = (part: Part) =>
    (layout.places.get(part.address)?.depth ?? 0) + (stateOf(part, props) === "up" ? 0 : 2);
  const { box } = layout;
  const least = LEGIBLE / layout.font;
  const pitch = rowPitch(wiring, layout);

  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a picture has no fieldset */}
      <svg
        id={id}
        ref={root}
        class={`wiring${turn ? " turns" : ""}${zoom.times > 1 ? " zoomed" : ""}`}
        viewBox={Object.values(zoom.view).map(fixed).join(" ")}
        style={`--letter: ${layout.font}px; --least: ${Math.ceil(box.height * least)}px; --wide: ${Math.ceil(box.width * least)}px; --most: ${Math.max(240, box.width * 1.35)}px; --step-across: ${box.width / pitch}px; --step-along: ${box.height / pitch}px`}
        role="group"
        aria-label={`Wiring of ${wiring.domain}. Arrow keys move between chips, with Shift between servers; Enter selects, I shows details, D takes a part down, plus and minus zoom${turn ? ", Q and E turn" : ""}.`}
        {...zoom.hears}
      >
        <title>{wiring.domain}</title>
        {layout.panels.map((panel) => (
          <rect key={`${panel.x} ${panel.y}`} class="panel" {...sized(panel)} rx="10" />
        ))}
        {layout.planes?.map(({ corners, label }) => (
          <polygon key={label.text} class="plane" points={pointsOf(corners)} />
        ))}
        {!turn && idleLines}
        <g class={hasMarks ? "quiet" : ""}>{others.filter(({ address }) => !idle.has(address)).map(line)}</g>
        {turn && idleLines}
        {sorted.filter((wire) => marks.before.has(wire.address)).map(line)}
        {sorted.filter((wire) => marks.links.has(wire.address)).map(line)}
        {turn && [...layout.places].map(([address, place]) => <Gap key={address} place={place} />)}
        {turn && <g class={hasMarks ? "quiet" : ""}>{others.map(end)}</g>}
        {turn && sorted.filter((wire) => marks.links.has(wire.address)).map(end)}
        {[...wiring.parts]
          .sort((a, b) => height(a) - height(b))
          .map((part) => (
            <Node
              key={part.address}
              part={part}
              letter={marks.letters.get(part.address)}
              place={layout.places.get(part.address) as Place}
              font={layout.font}
              state={stateOf(part, props)}
              classes={classesOf(part, props)}
              pressed={chosen.includes(part.address)}
              isTarget={part.address === props.target}
              tab={part.address === focus}
              press={press(part)}
              open={() => open(part.address)}
              type={type(part)}
              near={setNear}
              label={describePart(part, props, degrees)}
            />
          ))}
        {wiring.wires
          .filter((wire) => (wire.state === "degraded" || derated.has(wire.address)) && !idle.has(wire.address))
          .map((wire) => (
            <Sign
              key={wire.address}
              position={(layout.routes.get(wire.address) as Route).sign}
              state="degraded"
              around
            />
          ))}
        {[...layout.labels, ...(layout.planes ?? []).map(({ label }) => label)].map((label) => (
          <text
            key={`${label.x} ${label.y}`}
            class={label.strong ? "label strong" : "label"}
            x={fixed(label.x)}
            y={fixed(label.y)}
            text-anchor={label.anchor}
          >
            {label.text}
          </text>
        ))}
      </svg>
      <fieldset class="zoom">
        <legend class="unseen">Zoom</legend>
        <button type="button" aria-label="Zoom in" onClick={() => zoom.by(1.4)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" disabled={zoom.times === 1} onClick={() => zoom.by(1 / 1.4)}>
          −
        </button>
        {zoom.times > 1 && (
          <button type="button" onClick={zoom.reset}>
            Show all
          </button>
        )}
      </fieldset>
      <p class="unseen" role="status">
        {announcement}
      </p>
    </>
  );
}

const pointsOf = (points: Point[]) => points.map(({ x, y }) => `${fixed(x)},${fixed(y)}`).join(" ");

/** Around a chip in space, where lines that pass behind it are broken. */
const Gap = ({ place }: { place: Place }) => (
  <circle class="gap" cx={fixed(place.x)} cy={fixed(place.y)} r={fixed(place.width / 2 + 4)} />
);

interface LineProps {
  wire: Wire;
  route: Route;
  wide: number;
  name: string;
  marked: string;
  /** off: carries nothing. */
  state: string;
  why: string | undefined;
  near: boolean;
  depth: number | undefined;
  press: (event: MouseEvent) => void;
}

function Line({ wire, route, wide, name, marked, state, why, near, depth, press }: LineProps) {
  const off = state === "off";
  const thick = { path: 4.5, cut: 1.4 * wide, before: 2.4 }[marked] ?? (off ? 2 : near ? wide + 1 : wide);
  const shapes = route.strokes.map(pointsOf);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard the tables of links do the same
    <g
      class={["wire", name, marked, state === "up" ? "" : state, near ? "near" : ""].filter(Boolean).join(" ")}
      style={depth === undefined ? undefined : `--near: ${depth}`}
      onClick={press}
    >
      <title>{`${wire.address}: ${number(off ? 0 : wire.now)} GB/s one direction, ${wire.technology}${why ? `, idle: ${why}` : state === "up" ? "" : `, ${state}`}`}</title>
      {marked === "path" &&
        shapes.map((points) => <polyline key={points} class="casing" points={points} stroke-width="8.5" />)}
      {shapes.map((points) => (
        <polyline key={points} points={points} stroke-width={thick} />
      ))}
      {shapes.map((points) => (
        <polyline key={`hit${points}`} class="hit" points={points} stroke-width={2 * wide + 4} data-page="" />
      ))}
    </g>
  );
}

/** Ctrl with the wheel, or two fingers on a trackpad, zooms; the wheel alone scrolls the page. */
function useWheel(
  root: { current: SVGSVGElement | null },
  by: (factor: number, about: { x: number; y: number }) => void,
) {
  useEffect(() => {
    const turn = (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      by(1.0015 ** -event.deltaY, { x: event.clientX, y: event.clientY });
    };
    const element = root.current;
    element?.addEventListener("wheel", turn, { passive: false });
    return () => element?.removeEventListener("wheel", turn);
  });
}

type Now = Pick<Props, "idle" | "derated">;

/** The state that a scenario assumes for a part, down or degraded. */
const assumedState = ({ address, state }: Part, { idle, derated }: Now) =>
  CARRYING.has(state) && idle.has(address) ? "down" : state === "up" && derated.has(address) ? "degraded" : "";

/** A part in the state that the scenario assumes. */
const stateOf = (part: Part, now: Now) => assumedState(part, now) || part.state;

function classesOf(part: Part, props: Props): string {
  const { marks, chosen, selected, idle } = props;
  const { address, kind, state } = part;
  const hops = marks.hops.get(address);
  const assumed = assumedState(part, props);
  return [
    chosen.includes(address) && "chosen",
    selected === address && "selected",
    marks.nodes.has(address) && "path",
    marks.side.has(address) ? "side" : marks.side.size > 0 && kind === "chip" && "other",
    hops !== undefined && `hop h${Math.min(hops, 6)}`,
    idle.has(address) && "off",
    marks.letters.has(address) && "allocated",
    assumed && `assumed ${assumed}`,
    !assumed && state !== "up" && state,
  ]
    .filter(Boolean)
    .join(" ");
}

/** Describe a chip or switch: s1, chip 5, down, HBM errors, 6 links. */
function describePart(part: Part, now: Now, links: Map<string, number>) {
  const { address, kind, ordinal, server, state, why, job } = part;
  const assumed = assumedState(part, now);
  return [
    server !== null && `s${server}`,
    `${kind} ${ordinal}`,
    assumed ? `${assumed} in this scenario` : state,
    why,
    job && `allocated to ${job}`,
    pluralize(links.get(address) ?? 0, "link"),
  ]
    .filter(Boolean)
    .join(", ");
}

function linkCounts({ wires }: Wiring): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { a, b } of wires) for (const end of [a, b]) counts.set(end, (counts.get(end) ?? 0) + 1);
  return counts;
}

/** The distance between rows of chips. It is drawn as whole pixels, so that equal links along the rows look equal. */
function rowPitch({ wiring, parts }: Wiring, { places, box }: Layout): number {
  const chips = parts.filter(({ kind }) => kind === "chip");
  const rows = [...new Set(chips.map(({ address }) => places.get(address)?.y ?? 0))].sort((a, b) => a - b);
  const least = Math.min(...rows.slice(1).map((y, index) => y - (rows[index] ?? 0)));
  return wiring === "switched" && Number.isFinite(least) ? least : box.width;
}

/** Whether a link carries less than it could, by its own state or that of an end. */
export const isReduced = ({ now, nominal, state }: Wire) => state === "degraded" || (now > 0 && now < nominal);

/** Distinct bandwidths, widest first. */
export const bandwidths = ({ wires }: Wiring) => [...new Set(wires.map((wire) => wire.nominal))].sort((a, b) => b - a);
