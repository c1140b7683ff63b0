// The camera of the map: pixels per tile, and the position of its upper left corner, in tiles.
import { numberIn } from "../route";
import { number } from "../words";
import { blockAt, type Cell, domainAt, type Layout } from "./layout";
import type { Overview } from "./overview";

export type Pixel = [number, number];

/** Maximum pixels per chip. */
const LARGEST = 64;
/** Pixels per tile from which tiles have names (those of single servers sooner), and the space for a name. */
const [NAMED, NAMED_SINGLE] = [48, 42];
const NEAR = { left: 0.08, top: 0.19, size: 0.79 };
/** Least pixels of the canvas from chip to chip with which servers are apart, and chips too. */
const [SERVERS, CHIPS] = [4, 5];
/** The most by which servers are farther apart than chips. */
const SEAM = 7;
/** Least pixels of the space for a name, between the frames of two rows. */
const NAME = 14.5;
/** Margin in pixels; on the left also for the names of rows. */
export const MARGIN = 12;
const [NAMES, DIGIT] = [58, 7];
/** Number of rows from which rows have names. */
export const NAMED_ROWS = 3;
/** Narrower maps have no more space for names than their letters take. */
const WIDE = 600;

/** Pixels on the left with the names of rows. */
export const namesWidth = ({ domains }: Overview, width: number) =>
  width > WIDE ? NAMES : DIGIT * (1 + number(domains).length) + MARGIN;

/** Whether every domain is a single server. */
const isSingle = ({ parts }: Overview) => parts.every(({ servers }) => servers === 1);

const namedFrom = (overview: Overview) => (isSingle(overview) ? NAMED_SINGLE : NAMED);

type Grid = Pick<Layout, "columns" | "rows">;

/** Pixels from a chip to the next, between two chips, and how much more there is between two servers. */
interface Spacing {
  pitch: number;
  gap: number;
  seam: number;
}

/** Pixels on the left of the tiles. */
function leftOf(overview: Overview, { columns, rows }: Grid, width: number, height: number): number {
  const isNamed = Math.min((width - 2 * MARGIN) / columns, (height - 2 * MARGIN) / rows) >= namedFrom(overview);
  return rows >= NAMED_ROWS && !isNamed ? namesWidth(overview, width) : MARGIN; // or every tile has its name
}

/** Pixels per tile with the whole cluster in view. */
export const fitOf = (overview: Overview, { columns, rows }: Grid, width: number, height: number) =>
  Math.min(
    (width - leftOf(overview, { columns, rows }, width, height) - MARGIN) / columns,
    (height - 2 * MARGIN) / rows,
  );

/** To whole pixels of the canvas. */
const snap = (value: number) => Math.round(value * devicePixelRatio) / devicePixelRatio;

export class Camera {
  scale = 0;
  x = 0;
  y = 0;
  /** Pixels per tile at which the whole cluster is visible. */
  fit = 1;
  /** Whether every domain is a single server. */
  readonly isSingle: boolean;
  private readonly named: number;
  /** Servers of a domain side by side, less one. */
  private readonly seams: number;
  private spacingCache: Spacing & { scale: number; ratio: number } = { scale: 0, ratio: 0, pitch: 0, gap: 0, seam: 0 };

  constructor(
    readonly element: HTMLElement,
    readonly overview: Overview,
    readonly to: Layout,
  ) {
    this.isSingle = isSingle(overview);
    this.named = namedFrom(overview);
    this.seams = Math.max(...overview.parts.map(({ servers }) => Math.ceil(Math.sqrt(servers)) - 1));
  }

  get width(): number {
    return this.element.clientWidth;
  }

  get height(): number {
    return this.element.clientHeight;
  }

  private get left(): number {
    return leftOf(this.overview, this.to, this.width, this.height);
  }

  /** Magnification relative to the whole cluster. */
  get zoomed(): number {
    return this.scale / this.fit;
  }

  get isNear(): boolean {
    return this.scale >= this.named;
  }

  /** The camera of the page's options zoom and at (the domain in the middle); the whole cluster without them. */
  show({ zoom, at }: Record<string, string>): void {
    const { columns, rows } = this.to;
    this.fit = Math.max(0.1, Math.min(fitOf(this.overview, this.to, this.width, this.height), this.largest));
    this.scale = numberIn(zoom, [0.5, this.largest / this.fit], 1) * this.fit;
    const match = /^d(\d{1,9})(?:,(-?[\d.]+),(-?[\d.]+))?$/.exec(at ?? "");
    const domain = Number(match?.[1]);
    if (match && domain < this.overview.domains) {
      const part = (text: string | undefined) => numberIn(text, [-1000, 1000], 0.5);
      this.centre([(domain % columns) + part(match[2]), Math.floor(domain / columns) + part(match[3])]);
      if (match[2] === undefined) this.fill();
    } else if (this.scale > this.fit) this.centre([columns / 2, rows / 2]);
    else this.home();
  }

  private home(): void {
    this.x = -(this.left + (this.width - this.left - MARGIN - this.to.columns * this.scale) / 2) / this.scale;
    this.y = -(this.height - this.to.rows * this.scale) / 2 / this.scale;
  }

  private centre([x, y]: Pixel): void {
    this.x = x - this.width / 2 / this.scale;
    this.y = y - this.height / 2 / this.scale;
    this.stay();
  }

  /** Leave no more than a margin empty beyond the outer tiles, if they fill the view. */
  private fill(): void {
    const within = (value: number, view: number, count: number) => {
      const [least, most] = [-MARGIN / this.scale, count + (MARGIN - view) / this.scale];
      return least < most ? Math.max(least, Math.min(most, value)) : value;
    };
    this.x = within(this.x, this.width, this.to.columns);
    this.y = within(this.y, this.height, this.to.rows);
  }

  private get largest(): number {
    return (LARGEST * this.to.side) / NEAR.size;
  }

  /** The page's options for a camera, and the camera moved to exactly what they say. */
  kept(): Record<"zoom" | "at", string> {
    const { columns, rows } = this.to;
    const [x, y] = this.tile([this.width / 2, this.height / 2]);
    const row = Math.max(0, Math.min(rows - 1, Math.floor(y)));
    const column = Math.max(0, Math.min(columns - 1, Math.floor(x)));
    const domain = Math.min(row * columns + column, this.overview.domains - 1);
    const within = [x - (domain % columns), y - Math.floor(domain / columns)].map((part) => part.toFixed(4));
    const kept = { zoom: this.zoomed.toFixed(3), at: `d${domain},${within}` };
    this.show(kept);
    return kept;
  }

  zoom(factor: number, [px, py]: Pixel): void {
    const scale = Math.max(this.fit / 2, Math.min(this.largest, this.scale * factor));
    this.x += px / this.scale - px / scale;
    this.y += py / this.scale - py / scale;
    this.scale = scale;
    this.stay();
  }

  move(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.stay();
  }

  /** Keep some of the cluster in view. */
  private stay(): void {
    const [width, height] = [this.width / this.scale, this.height / this.scale];
    this.x = Math.max(-0.8 * width, Math.min(this.to.columns - 0.2 * width, this.x));
    this.y = Math.max(-0.8 * height, Math.min(this.to.rows - 0.2 * height, this.y));
  }

  /** The position below a pixel, in tiles. */
  tile([px, py]: Pixel): Pixel {
    return [this.x + px / this.scale, this.y + py / this.scale];
  }

  /** Where chips begin in a tile, and how much of it they fill. */
  get inset(): { left: number; top: number; size: number } {
    const top = Math.max(NEAR.top, NAME / this.scale);
    return this.isNear
      ? { ...NEAR, top, size: NEAR.top + NEAR.size - top }
      : { left: 0, top: 0, size: this.to.side / (this.to.side + 1) };
  }

  /** The spacing of chips: whole pixels of the canvas, so that all are alike, or fractions where they touch. */
  get spacing(): Spacing {
    const { scale, spacingCache: cache } = this;
    const ratio = devicePixelRatio;
    if (cache.scale !== scale || cache.ratio !== ratio)
      this.spacingCache = { scale, ratio, ...this.spacingIn(this.inset.size * scale * ratio, ratio) };
    return this.spacingCache;
  }

  private spacingIn(room: number, ratio: number): Spacing {
    const { side } = this.to;
    for (let pitch = this.isNear ? Math.floor(room / side) : 0; pitch >= SERVERS; pitch--) {
      const gap = Math.min(Math.round(ratio), Math.floor(pitch / CHIPS));
      const seam = this.seams && Math.ceil(Math.min(pitch / 4, SEAM * ratio));
      if (pitch * side - gap + seam * this.seams <= room)
        return { pitch: pitch / ratio, gap: gap / ratio, seam: seam / ratio };
    }
    return { pitch: room / side / ratio, gap: 0, seam: 0 };
  }

  /** Pixels per chip. */
  get chip(): number {
    return this.spacing.pitch - this.spacing.gap;
  }

  /** Pixels of the chips of a tile. */
  get side(): number {
    const { pitch, gap, seam } = this.spacing;
    return pitch * this.to.side - gap + seam * this.seams;
  }

  /** Pixels from the first chip of a tile to a cell, of blocks of so many cells. */
  along(cell: number, block: number): number {
    const { pitch, seam } = this.spacing;
    return cell * pitch + Math.floor(cell / block) * seam;
  }

  cell(pixel: Pixel): Cell {
    const [x, y] = this.tile(pixel);
    const [column, row] = [Math.floor(x), Math.floor(y)];
    const [left, top] = this.corner([column, row, 0, 0]);
    const [wide, high] = this.blockAt(column, row);
    const { pitch, seam } = this.spacing;
    const inside = (pixels: number, block: number) => {
      const before = Math.floor(pixels / (block * pitch + seam));
      const rest = Math.floor((pixels - before * (block * pitch + seam)) / pitch);
      return before * block + Math.min(rest, block - 1); // what is between servers belongs to the first
    };
    return [column, row, inside(x * this.scale - left, wide), inside(y * this.scale - top, high)];
  }

  /** The upper left corner of a cell, in pixels from that of the whole. */
  corner([column, row, x, y]: Cell): Pixel {
    const { left, top } = this.inset;
    const [wide, high] = this.blockAt(column, row);
    const [across, down] = [snap((column + left) * this.scale), snap((row + top) * this.scale)];
    return [across + this.along(x, wide), down + this.along(y, high)];
  }

  private blockAt(column: number, row: number): [number, number] {
    return blockAt(this.overview, this.to, row * this.to.columns + column);
  }

  /** Where the corner of the whole is on the screen. */
  get origin(): Pixel {
    return [snap(-this.x * this.scale), snap(-this.y * this.scale)];
  }

  /** Keep a cell in view. */
  follow(cell: Cell): void {
    const [px, py] = this.corner(cell);
    const [left, top] = this.origin;
    const edge = Math.min(40, this.width / 8);
    const beyond = (value: number, most: number) =>
      Math.max(0, value + this.chip + edge - most) + Math.min(0, value - edge);
    this.x += beyond(px + left, this.width) / this.scale;
    this.y += beyond(py + top, this.height) / this.scale;
  }

  /** The domain below a pixel, or -1. */
  domain(pixel: Pixel): number {
    const [x, y] = this.tile(pixel);
    return domainAt(this.overview, this.to, Math.floor(x), Math.floor(y));
  }
}
