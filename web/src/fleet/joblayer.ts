// The names of jobs, or their letters, and the hatch of reserved chips, over the map.
import { JOB_TOKENS, letterOf, toneOf } from "../drawing/letter";
import { type AllocationMap, UNAVAILABLE } from "./allocations";
import type { Camera } from "./camera";
import { inkOf } from "./ink";
import { cellOf } from "./layout";
import { isBeside, type Marker } from "./markers";
import { chipsOf, placeOf } from "./overview";

/** Pixels per tile from which each job of a domain has a letter; in smaller ones, a row of domains has one. */
const SINGLE = 20;
/** The smallest height of a letter's background, and the smallest tile of a row that has a letter. */
const [LEAST, LEAST_TILE] = [9, 8];
/** The side of an area from which letters are large, and the size of others and of names. */
const [LARGE, SMALL] = [40, 11];
/** The height of a name's background, and the least space beside a name. */
const [LABEL, PADDING] = [SMALL + 4, 3];
const FONT = `600 ${SMALL}px system-ui, sans-serif`;
/** Pixels from the middle of a domain to its label, if a marker is on the other side. */
const SHIFT = 11;
/** Pixels from one stripe to the next. */
const STRIPE = 4;
const RESERVED = UNAVAILABLE.indexOf("reserved");

/** Chips of a job (its number from 1; 0: they are reserved) as a rectangle of cells of a tile. */
interface Area {
  job: number;
  chip: number;
  chips: number;
  x: number;
  y: number;
  right: number;
  bottom: number;
}

/** Whether all chips of a rectangle are the job's. */
const isFull = ({ chips, x, y, right, bottom }: Area) => chips === (right - x) * (bottom - y);

type Box = [left: number, top: number, width: number, height: number];

/** An area on the screen. */
function boxOf(camera: Camera, area: Area, column: number, row: number): Box {
  const [x, y] = camera.origin;
  const [left, top] = camera.corner([column, row, area.x, area.y]);
  const [right, bottom] = camera.corner([column, row, area.right - 1, area.bottom - 1]);
  return [left + x, top + y, right + camera.chip - left, bottom + camera.chip - top];
}

/**
 * The rows of an area that its label is on, or as much of them as it takes if they are higher. All of it is the job's:
 * what is between chips would be read as dashes of the name.
 */
function bandOf(camera: Camera, area: Area, column: number, row: number, [left, top, width]: Box, middle: number): Box {
  const edges = [middle - LABEL / 2, middle + LABEL / 2] as const;
  if (camera.chip >= LABEL) return [left, Math.round(edges[0]), width, LABEL];
  const [first, last] = edges.map((y) =>
    Math.max(area.y, Math.min(area.bottom - 1, camera.cell([left, Math.max(top, y)])[3])),
  ) as [number, number];
  return boxOf(camera, { ...area, y: first, bottom: last + 1 }, column, row);
}

export class JobLayer {
  private areas = new Map<number, Area[]>();
  private to: Camera["to"] | undefined;
  /** The markers at the camera's scale, from which labels keep away. */
  markers: Marker[] = [];
  /** The least width of the areas that have names, in cells: those of one width all have names, or all letters. */
  private named = 0;
  private readonly inks = JOB_TOKENS.map((token) => [inkOf(token), inkOf(`on-${token}`)] as const);

  constructor(
    private readonly allocations: AllocationMap,
    private readonly paper: string,
    private readonly isFaded: (chip: number) => boolean,
  ) {}

  paint(context: CanvasRenderingContext2D, camera: Camera, seen: Iterable<[number, number, number]>): void {
    if (this.to !== camera.to) this.areas.clear();
    this.to = camera.to;
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.named = 0;
    if (camera.scale >= SINGLE) {
      const areas = [...seen].flatMap(([domain, column, row]) =>
        this.areasOf(camera, domain).map((area) => [area, column, row, boxOf(camera, area, column, row)] as const),
      );
      context.font = FONT;
      for (const [{ job, x, right }, , , [, , width]] of areas)
        if (!this.hasRoom(context, job, width)) this.named = Math.max(this.named, right - x + 1);
      for (const area of areas) this.area(context, camera, ...area);
    } else if (camera.scale >= LEAST_TILE) this.rows(context, camera, seen);
    context.textBaseline = "alphabetic";
  }

  /** A domain's jobs: one area each if they fill it, else one per server. */
  private areasOf(camera: Camera, domain: number): Area[] {
    const known = this.areas.get(domain);
    if (known) return known;
    const [first, chips] = chipsOf(camera.overview, domain);
    const [{ perServer }] = placeOf(camera.overview, first);
    const [whole, parts] = [new Map<number, Area>(), new Map<string, Area>()];
    for (let chip = first; chip < first + chips; chip++) {
      const job = this.allocations.jobNumbers[chip] ?? 0;
      if (!job && this.allocations.unavailable[chip] !== RESERVED) continue;
      const [, , x, y] = cellOf(camera.overview, camera.to, chip);
      grow(whole, job, { job, chip, x, y });
      grow(parts, `${job} ${Math.floor((chip - first) / perServer)}`, { job, chip, x, y });
    }
    const areas = [...parts.values()].filter(({ job }) => !isFull(whole.get(job) as Area));
    const all = [...[...whole.values()].filter(isFull), ...areas];
    this.areas.set(domain, all);
    return all;
  }

  private area(
    context: CanvasRenderingContext2D,
    camera: Camera,
    area: Area,
    column: number,
    row: number,
    box: Box,
  ): void {
    if (this.isFaded(area.chip)) return;
    const [left, top, width, height] = box;
    if (!area.job) {
      hatch(context, box, 45, this.paper, 2.5);
      return;
    }
    const ordinal = this.allocations.jobs[area.job - 1]?.ordinal ?? 0;
    const angle = letterOf(ordinal).hatch;
    if (angle !== undefined) hatch(context, box, angle, this.inks[toneOf(ordinal)]?.[1] ?? "", 0.8);
    const middle = [left + width / 2, top + height / 2 + this.shiftOf(camera, area, column, row)] as const;
    if (camera.spacing.gap && isFull(area)) {
      context.fillStyle = this.inks[toneOf(ordinal)]?.[0] ?? "";
      context.fillRect(...bandOf(camera, area, column, row, box, middle[1]));
    }
    this.label(context, area.job, middle, width, height, area.right - area.x >= this.named);
  }

  private nameOf(job: number): string {
    return this.allocations.jobs[job - 1]?.name ?? "";
  }

  private hasRoom(context: CanvasRenderingContext2D, job: number, width: number): boolean {
    return context.measureText(this.nameOf(job)).width + 2 * PADDING <= width;
  }

  /** How far the label of a whole domain moves away from a marker that would cover it, in pixels. */
  private shiftOf(camera: Camera, area: Area, column: number, row: number): number {
    const tile = camera.side;
    if (camera.isSingle || area.bottom - area.y < camera.to.side) return 0;
    const [left, top] = camera.corner([column, row, 0, 0]);
    for (const { x, y } of this.markers)
      if (x >= left && x <= left + tile && y >= top && y <= top + tile)
        return isBeside(y - top - tile / 2) ? -Math.sign(y - top - tile / 2) * SHIFT : 0;
    return 0;
  }

  /** A job's name, or its letter where there is no room for the name. */
  private label(
    context: CanvasRenderingContext2D,
    job: number,
    [x, y]: readonly [number, number],
    width: number,
    height: number,
    mayHaveName = true,
  ): void {
    const ordinal = this.allocations.jobs[job - 1]?.ordinal ?? 0;
    const [color, on] = this.inks[toneOf(ordinal)] ?? ["", ""];
    context.font = FONT;
    const isNamed = mayHaveName && this.hasRoom(context, job, width);
    const size = !isNamed && Math.min(width, height) >= LARGE ? 14 : SMALL;
    const text = isNamed ? this.nameOf(job) : letterOf(ordinal).text;
    context.font = `600 ${size}px system-ui, sans-serif`;
    const padded = context.measureText(text).width + 2 * PADDING;
    const [wide, high] = [isNamed ? Math.min(width, padded) : padded, Math.min(size + 4, height)];
    if (wide > Math.max(width, 13) || high < LEAST) return;
    context.fillStyle = color;
    context.fillRect(Math.round(x - wide / 2), Math.round(y - high / 2), Math.round(wide), Math.round(high));
    context.fillStyle = on;
    context.fillText(text, x, y + 1);
  }

  /** A letter for each row of consecutive domains whose first chip has the same job. */
  private rows(context: CanvasRenderingContext2D, camera: Camera, seen: Iterable<[number, number, number]>): void {
    const [x, y] = camera.origin;
    let run = { job: 0, row: -1, from: 0, to: 0 };
    const end = () => {
      const width = (run.to - run.from) * camera.scale;
      const middle = [((run.from + run.to) / 2) * camera.scale + x, (run.row + 0.5) * camera.scale + y] as const;
      if (run.job) this.label(context, run.job, middle, width, Math.max(camera.scale, LEAST + 2));
    };
    for (const [domain, column, row] of seen) {
      const [first] = chipsOf(camera.overview, domain);
      const job = this.isFaded(first) ? 0 : (this.allocations.jobNumbers[first] ?? 0);
      if (job !== run.job || row !== run.row || column !== run.to) {
        end();
        run = { job, row, from: column, to: column };
      }
      run.to = column + 1;
    }
    end();
  }
}

/** Stripes over a box, as the service's pictures have them: 0 degrees are upright ones. */
function hatch(
  context: CanvasRenderingContext2D,
  [left, top, width, height]: Box,
  angle: number,
  color: string,
  line: number,
): void {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.translate(left + width / 2, top + height / 2);
  context.rotate(((angle + 90) * Math.PI) / 180);
  context.strokeStyle = color;
  context.lineWidth = line;
  const reach = Math.hypot(width, height) / 2;
  context.beginPath();
  for (let y = -reach; y < reach; y += STRIPE) {
    context.moveTo(-reach, y);
    context.lineTo(reach, y);
  }
  context.stroke();
  context.restore();
}

function grow<K>(areas: Map<K, Area>, key: K, { job, chip, x, y }: Pick<Area, "job" | "chip" | "x" | "y">): void {
  const area = areas.get(key);
  if (!area) {
    areas.set(key, { job, chip, chips: 1, x, y, right: x + 1, bottom: y + 1 });
    return;
  }
  area.chips++;
  area.x = Math.min(area.x, x);
  area.y = Math.min(area.y, y);
  area.right = Math.max(area.right, x + 1);
  area.bottom = Math.max(area.bottom, y + 1);
}
