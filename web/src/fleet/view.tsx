// Every chip of a cluster on a canvas, with unhealthy parts marked.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { change, href, type Route } from "../route";
import { type Count, STATES } from "../state";
import { number, relativeTo } from "../words";
import type { AllocationMap } from "./allocations";
import { Camera, fitOf, MARGIN, type Pixel } from "./camera";
import type { ChipColors } from "./color";
import { describe } from "./description";
import { gestures } from "./gestures";
import { inkOf, inksOf, useLooks } from "./ink";
import { JobKey } from "./jobkey";
import { JobLayer } from "./joblayer";
import { type Cell, cellOf, chipAt, type Layout, layoutOf } from "./layout";
import { Legend } from "./legend";
import { type Marker, markersWithin, mergeSpots } from "./markers";
import { Frame, Markers, Ring, Tip } from "./marks";
import { Minimap, ZoomButtons } from "./minimap";
import { addressOf, domainOf, type Overview } from "./overview";
import { Painter } from "./paint";
import { chipsAt, type Spot, serversBeside } from "./spots";

interface Props {
  overview: Overview;
  colored: ChipColors;
  allocations: AllocationMap | undefined;
  spots: Spot[];
  /** Unhealthy parts that are not chips. */
  others: Count[];
  /** The address of the selection; empty: none. */
  sel: string;
  route: Route;
  /** Memory of a chip, in GiB. */
  memory: number | undefined;
  /** The chip under the mouse or the cursor, or -1. */
  chip: number;
  /** A chip of the domain that the panel shows. */
  beside: number;
  point: (chip: number) => void;
  /** Pixels per tile with the whole cluster in view. */
  fitted: (fit: number) => void;
}

/** The markers at a scale, in a window around the view. */
interface VisibleMarkers {
  all: Marker[];
  some: Marker[];
  scale: number;
  from: Pixel;
  to: Pixel;
}

const REACH = 12;

export function FleetMap(props: Props) {
  const { overview, colored, spots, others, sel, route, chip, beside, point, fitted } = props;
  const { options } = route;
  const stage = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const view = useRef<HTMLElement | null>(null);
  const [[width, height], setSize] = useState<Pixel>([0, 0]);
  const to = useColumns(overview, width, height);
  const camera = useMemo(
    () => (width ? new Camera(stage.current as HTMLElement, overview, to) : null),
    [overview, to, width > 0],
  );
  const looks = useLooks();
  const only = useMemo(() => new Set((options.only ?? "").split(",").filter(Boolean)), [options.only]);
  const painter = useMemo(() => {
    const [paper, ink, accent] = ["surface", "ink", "accent"].map((token) => inkOf(token)) as [string, string, string];
    const badges = colored.shades.map(({ mark }) => mark && inkOf(mark));
    const { codes } = colored;
    const inks = inksOf(colored, only);
    const isFaded = (chip: number) => (inks.colors[codes[chip] ?? 0] ?? 0) >>> 24 < 255;
    const jobs = colored.jobs && new JobLayer(colored.jobs, paper, isFaded);
    return new Painter({ codes, badges, inks, paper, ink, accent, jobs });
  }, [colored, only, looks]);
  const marked = useMemo(() => {
    const states = new Set(STATES.filter((state) => only.has(state)));
    return spots.filter(({ state }) => states.size === 0 || states.has(state));
  }, [spots, only]);
  const [shown, setShown] = useState<VisibleMarkers | null>(null);
  const [tip, setTip] = useState<Marker | undefined>();
  const cursor = useRef(-1);

  const paint = useRef(() => {});
  const waiting = useRef(0);
  const last = useRef<VisibleMarkers | null>(null);
  paint.current = () => {
    waiting.current = 0;
    if (!camera || !canvas.current || !layer.current) return;
    const next = visibleMarkers(camera, marked, colored.jobs, last.current);
    if (painter.look.jobs) painter.look.jobs.markers = next.some;
    painter.paint(canvas.current, camera, cursor.current);
    const [x, y] = camera.origin;
    layer.current.style.transform = `translate(${x}px, ${y}px)`;
    if (view.current) positionFrame(view.current, camera);
    if (next !== last.current) setShown(next);
    last.current = next;
  };
  const draw = () => {
    waiting.current ||= requestAnimationFrame(() => paint.current());
  };

  const rest = () => {
    if (camera) change(camera.kept(), true);
  };
  const choose = (address: string) => {
    cursor.current = -1;
    draw();
    const short = relativeTo(overview.cluster, address);
    if (short !== options.sel) change({ sel: short });
  };
  const open = (address: string) => {
    if (!chipsAt(overview, address)) return;
    const domain = domainOf(address);
    location.hash = href("domain", domain, { sel: relativeTo(domain, address) || undefined });
  };
  const near = (pixel: Pixel): Marker | undefined => {
    const [x, y] = camera?.origin ?? [0, 0];
    const away = (marker: Marker) => Math.hypot(marker.x + x - pixel[0], marker.y + y - pixel[1]);
    return shown?.some
      .filter((marker) => away(marker) < Math.max(REACH, (marker.side ?? 0) / 2))
      .sort((a, b) => away(a) - away(b))[0];
  };
  const acts = useRef({ near, choose, open, rest, sel });
  acts.current = { near, choose, open, rest, sel };

  useLayoutEffect(() => {
    const element = stage.current as HTMLElement;
    const watch = new ResizeObserver(() => setSize([element.clientWidth, element.clientHeight]));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!camera || !canvas.current) return;
    canvas.current.width = width * devicePixelRatio;
    canvas.current.height = height * devicePixelRatio;
    camera.show(options);
    fitted(camera.fit);
    setTip(undefined);
    draw();
  }, [camera, width, height, options.zoom, options.at]);
  useEffect(() => {
    last.current = null;
    draw();
  }, [camera, painter, marked, colored.jobs]);
  useEffect(() => {
    if (!camera || !canvas.current) return;
    const chipBelow = (pixel: Pixel) => chipAt(overview, to, camera.cell(pixel));
    return gestures(canvas.current, camera, {
      hover: (pixel) => {
        const marker = pixel ? acts.current.near(pixel) : undefined;
        setTip(marker);
        point(!pixel ? -1 : marker ? marker.spot.chip : chipBelow(pixel));
      },
      choose: (pixel) => {
        const marker = acts.current.near(pixel);
        if (marker && marker.count > 1 && camera.chip < 20) {
          camera.zoom(3, pixel);
          acts.current.rest();
        } else if (marker) acts.current.choose(marker.spot.address);
        else if (chipBelow(pixel) >= 0) acts.current.choose(addressOf(overview, chipBelow(pixel)));
      },
      open: (pixel) => {
        const marker = acts.current.near(pixel);
        if (!marker && chipBelow(pixel) >= 0) acts.current.open(addressOf(overview, chipBelow(pixel)));
        else if (marker?.count === 1) acts.current.open(marker.spot.address);
      },
      moved: () => {
        setTip(undefined);
        draw();
      },
      rested: () => acts.current.rest(),
      key: (event) => {
        const now = cursor.current;
        const address = now >= 0 ? addressOf(overview, now) : acts.current.sel;
        if (event.key === "0") change({ zoom: undefined, at: undefined }, true);
        else if (event.key === "Escape" && acts.current.sel) change({ sel: undefined });
        else if (event.key === "Enter" && address) acts.current.open(address);
        else if (event.key === " " && now >= 0) acts.current.choose(address);
        else {
          const next = step(event, overview, to, now >= 0 ? now : chipOf(overview, acts.current.sel));
          if (next < 0) return false;
          cursor.current = next;
          point(next);
          camera.follow(cellOf(overview, to, next));
          draw();
        }
        return true;
      },
    });
  }, [camera]);

  const zoom = (factor: number) => {
    camera?.zoom(factor, [width / 2, height / 2]);
    rest();
  };
  const target = sel ? chipsAt(overview, sel) : undefined;
  const ends = target && (serversBeside(overview, sel)?.flat() ?? [target.first, target.first + target.chips - 1]);
  return (
    <section class="card flush map" aria-label={`Map of ${overview.cluster}`}>
      {colored.jobs && <JobKey jobs={colored.jobs.jobs} all={colored.jobs.jobs.length} />}
      <div ref={stage} class="stage">
        {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: arrows move over it, as over an application */}
        <canvas
          ref={canvas}
          class="fleet"
          tabIndex={0}
          role="application"
          aria-label={`All ${number(overview.chips)} chips of ${overview.cluster}. Arrow keys move from chip to chip, with Shift from domain to domain; plus and minus zoom, 0 shows all; Space selects, Enter opens the domain; N and P step through the unhealthy places. The list of causes follows.`}
        />
        <div class="over" aria-hidden="true">
          <div ref={layer} class="layer">
            {camera && shown && <Markers markers={shown.some} isFilled={!colored.jobs} />}
            {camera && shown && <Frame camera={camera} chip={beside} />}
            {camera && shown && ends && <Ring camera={camera} chips={ends} />}
          </div>
          {tip && camera && <Tip marker={tip} camera={camera} />}
        </div>
        <Minimap
          camera={camera}
          painter={painter}
          marked={marked}
          frame={view}
          isShown={(camera?.zoomed ?? 1) >= 2}
          moved={() => draw()}
          rest={rest}
        />
      </div>
      <div class="foot under">
        <ZoomButtons zoom={zoom} />
        <Legend {...{ overview, colored, only, others }} />
        <p class="hint quiet" aria-live="polite">
          {chip < 0 ? hint(camera) : describe(props, chip)}
        </p>
      </div>
    </section>
  );
}

function hint(camera: Camera | null): string {
  const tile = camera?.isSingle ? "server" : "domain";
  const { gap, seam } = camera?.spacing ?? { gap: 0, seam: 0 };
  return gap || seam
    ? `Each block is a ${tile}${seam ? ", with its servers apart" : ""}. Click a chip to select it, double-click to open its domain.`
    : `Each square is a ${tile}. Click to select, double-click to open it.`;
}

/** The columns beside those of square tiles that are tried. */
const TRIED = [-2, -1, 0, 1, 2];
/** The share of the largest tiles from which others are as good. */
const ALIKE = 0.97;

/** A layout with the largest tiles in a box; the same object while its columns stay the same. */
function useColumns(overview: Overview, width: number, height: number): Layout {
  const aspect = width && height ? Math.max(0.2, (width - 2 * MARGIN) / (height - 2 * MARGIN)) : 1.6;
  const columns = useMemo(() => {
    const { columns: middle } = layoutOf(overview, aspect);
    if (!width) return middle;
    const tried = TRIED.map((more) => Math.max(1, Math.min(overview.domains, middle + more)));
    const tile = (across: number) =>
      fitOf(overview, { columns: across, rows: Math.ceil(overview.domains / across) }, width, height);
    // of about the same size, more columns leave no space beside the map
    const least = ALIKE * Math.max(...tried.map(tile));
    return Math.max(...tried.filter((across) => tile(across) >= least));
  }, [overview, aspect, width, height]);
  return useMemo(() => layoutOf(overview, aspect, columns), [overview, columns]);
}

/** The markers in and around the camera's view; the earlier ones if they still fit. */
function visibleMarkers(
  camera: Camera,
  spots: Spot[],
  jobs: AllocationMap | undefined,
  before: VisibleMarkers | null,
): VisibleMarkers {
  const [x, y] = camera.origin;
  const { width, height, scale } = camera;
  const holds =
    before &&
    before.scale === scale &&
    before.from[0] <= -x &&
    before.from[1] <= -y &&
    before.to[0] >= width - x &&
    before.to[1] >= height - y;
  if (holds) return before;
  const all = before?.scale === scale ? before.all : mergeSpots(spots, camera, jobs);
  const from: Pixel = [-x - width / 2, -y - height / 2];
  const to: Pixel = [1.5 * width - x, 1.5 * height - y];
  return { all, some: markersWithin(all, from, to), scale, from, to };
}

/** The view's rectangle on the minimap. */
function positionFrame(frame: HTMLElement, camera: Camera): void {
  const share = (part: number, whole: number) => `${Math.max(0, Math.min(100, (100 * part) / whole))}%`;
  const [left, top] = camera.tile([0, 0]);
  const [right, bottom] = camera.tile([camera.width, camera.height]);
  const { columns, rows } = camera.to;
  Object.assign(frame.style, {
    left: share(left, columns),
    top: share(top, rows),
    right: share(columns - right, columns),
    bottom: share(rows - bottom, rows),
  });
}

const chipOf = (overview: Overview, address: string) => (address ? (chipsAt(overview, address)?.first ?? -1) : -1);

const WAYS: Record<string, Pixel> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/** The chip that an arrow key leads to, with Shift in the next domain; the first without a selection; or -1. */
function step(event: KeyboardEvent, overview: Overview, to: Layout, from: number): number {
  const way = WAYS[event.key];
  if (!way) return -1;
  if (from < 0) return 0;
  const [dx, dy] = way;
  const [column, row, x, y] = cellOf(overview, to, from);
  if (event.shiftKey) return chipAt(overview, to, [column + dx, row + dy, x, y]);
  for (let far = 1; far <= to.side; far++) {
    const next = chipAt(overview, to, wrapCell([column, row, x + far * dx, y + far * dy], to.side));
    if (next >= 0) return next;
  }
  return -1;
}

/** Move a cell beyond the edge of a tile to the next tile. */
function wrapCell([column, row, x, y]: Cell, side: number): Cell {
  const [right, below] = [Math.floor(x / side), Math.floor(y / side)];
  return [column + right, row + below, x - right * side, y - below * side];
}
