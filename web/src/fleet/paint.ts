// Draw what the camera shows: from an image of the whole, or tile by tile, with names, numbers and glyphs where they fit.
import { number } from "../words";
import { type Camera, NAMED_ROWS, namesWidth } from "./camera";
import { type Inks, plain, renderImage, sizeOf } from "./image";
import type { JobLayer } from "./joblayer";
import { blockAt, type Cell, cellOf, chipAt, domainAt } from "./layout";
import { GLYPHS } from "./markers";
import { placeOf } from "./overview";

/** Maximum pixels of an image of the whole, unless chips are smaller than a pixel; above, tiles are drawn one by one. */
const MOST = 1.5e6;
const NUMBERED = 22;
/** Pixels between the names of rows. */
const ROW = 22;
const FONT = "11px system-ui, sans-serif";

export interface Look {
  codes: Uint8Array;
  /** By code, the color of the chips' state if they have another one. */
  badges: (string | undefined)[];
  inks: Inks;
  paper: string;
  ink: string;
  accent: string;
  /** Letters of jobs, if chips are colored by them. */
  jobs: JobLayer | undefined;
}

/** The image of all chips at a size, rebuilt only when its look or size changes. */
export class Painter {
  private cursor = 0;
  private image: HTMLCanvasElement | undefined;
  private cells: HTMLCanvasElement | undefined;

  constructor(readonly look: Look) {}

  paint(canvas: HTMLCanvasElement, camera: Camera, cursor: number): void {
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    const ratio = devicePixelRatio;
    const tile = camera.scale * ratio;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingEnabled = false;
    const [width, height] = sizeOf(camera.to, tile);
    const [left, top] = camera.origin.map((value) => Math.round(value * ratio)) as [number, number];
    if (!camera.isNear && (tile < plain(camera.to) || width * height < MOST * ratio ** 2)) {
      context.drawImage(this.whole(camera, tile), left, top);
    } else this.tiles(context, camera, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    if (!camera.isNear) this.rows(context, camera);
    this.look.jobs?.paint(context, camera, this.seen(camera));
    context.font = FONT;
    if (camera.chip >= GLYPHS) this.glyphs(context, camera);
    if (cursor >= 0) this.ring(context, camera, cellOf(camera.overview, camera.to, cursor));
  }

  private whole(camera: Camera, tile: number): HTMLCanvasElement {
    if (!this.image || this.cursor !== tile) {
      this.image = renderImage(camera.overview, camera.to, this.look.codes, this.look.inks, tile);
      this.cursor = tile;
    }
    return this.image;
  }

  /** The visible tiles. */
  private *seen(camera: Camera): Generator<[domain: number, column: number, row: number]> {
    const [right, bottom] = camera.tile([camera.width, camera.height]);
    const first = Math.max(0, Math.floor(camera.x));
    for (let row = Math.max(0, Math.floor(camera.y)); row < Math.min(camera.to.rows, bottom); row++) {
      for (let column = first; column < Math.min(camera.to.columns, right); column++) {
        const domain = domainAt(camera.overview, camera.to, column, row);
        if (domain >= 0) yield [domain, column, row];
      }
    }
  }

  private tiles(context: CanvasRenderingContext2D, camera: Camera, ratio: number): void {
    const { overview, to } = camera;
    this.cells ??= renderImage(overview, to, this.look.codes, this.look.inks, plain(to));
    const { side } = to;
    const [x, y] = camera.origin;
    const { gap, seam } = camera.spacing;
    const whole = (value: number) => Math.round(value * ratio);
    const [all, thin] = [whole(camera.side), whole(gap)];
    const lines = new Map<number, Line>();
    const lineOf = (block: number): Line => {
      const line = lines.get(block) ?? lineIn(camera, seam ? block : side, whole);
      lines.set(block, line);
      return line;
    };
    context.fillStyle = this.look.paper;
    for (const [domain, column, row] of this.seen(camera)) {
      const corner = camera.corner([column, row, 0, 0]);
      const [left, top] = [whole(corner[0] + x), whole(corner[1] + y)];
      const [wide, high] = blockAt(overview, to, domain);
      const [across, down] = [lineOf(wide), lineOf(high)];
      const [fromX, fromY] = [column * plain(to), row * plain(to)];
      for (const { cell: cellY, cells: high, start: above, length: height } of down.spans)
        for (const { cell, cells, start, length } of across.spans)
          context.drawImage(
            this.cells,
            fromX + cell,
            fromY + cellY,
            cells,
            high,
            left + start,
            top + above,
            length,
            height,
          );
      if (!gap) continue;
      for (const start of across.gaps) context.fillRect(left + start, top, thin, all);
      for (const start of down.gaps) context.fillRect(left, top + start, all, thin);
    }
    if (camera.isNear) this.names(context, camera, ratio);
  }

  private names(context: CanvasRenderingContext2D, camera: Camera, ratio: number): void {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textAlign = "left";
    context.fillStyle = this.look.ink;
    const [x, y] = camera.origin;
    for (const [domain, column, row] of this.seen(camera)) {
      const [left, top] = camera.corner([column, row, 0, 0]);
      context.fillText(`d${domain}`, Math.round(left + x), Math.round(top + y) - 3);
    }
  }

  /** The first domain of every row whose name fits. */
  private rows(context: CanvasRenderingContext2D, camera: Camera): void {
    const [left, top] = camera.origin;
    const { columns, rows } = camera.to;
    const stride = Math.max(1, Math.ceil(ROW / camera.scale));
    if (left < namesWidth(camera.overview, camera.width) / 2 || rows < NAMED_ROWS) return;
    context.fillStyle = this.look.ink;
    context.textAlign = "right";
    for (let row = 0; row < rows; row += stride)
      context.fillText(`d${number(row * columns)}`, left - 7, top + row * camera.scale + camera.side / 2 + 4);
  }

  /** Draw glyphs on unhealthy chips, and the numbers of chips. */
  private glyphs(context: CanvasRenderingContext2D, camera: Camera): void {
    const { overview, to } = camera;
    const [x, y] = camera.origin;
    context.textAlign = "center";
    for (const [domain, column, row] of this.seen(camera)) {
      const [tileX, tileY] = camera.corner([column, row, 0, 0]);
      const [wide, high] = blockAt(overview, to, domain);
      for (let cell = 0; cell < to.side ** 2; cell++) {
        const [cellX, cellY] = [cell % to.side, Math.floor(cell / to.side)];
        const chip = chipAt(overview, to, [column, row, cellX, cellY]);
        if (chip < 0) continue;
        const [left, top] = [tileX + camera.along(cellX, wide), tileY + camera.along(cellY, high)];
        const middle = [left + x + camera.chip / 2, top + y + camera.chip / 2] as const;
        const [{ perServer }, , inside] = placeOf(overview, chip);
        const state = overview.states[chip];
        if (state) this.glyph(context, state, middle, this.look.badges[this.look.codes[chip] ?? 0]);
        else if (camera.chip >= NUMBERED) {
          context.fillStyle = legible(this.look, chip);
          context.fillText(String(inside % perServer), middle[0], middle[1] + 4);
        }
      }
    }
  }

  /** Draw a state's glyph in the color of paper, or on a disc if the chip's color is not the state's. */
  private glyph(
    context: CanvasRenderingContext2D,
    state: number,
    middle: readonly [number, number],
    badge: string | undefined,
  ): void {
    if (badge) {
      context.fillStyle = this.look.paper;
      context.beginPath();
      context.arc(...middle, 7.5, 0, 2 * Math.PI);
      context.fill();
    }
    glyph(context, state, middle, badge ?? this.look.paper);
  }

  private ring(context: CanvasRenderingContext2D, camera: Camera, cell: Cell): void {
    const [x, y] = camera.origin;
    const [left, top] = camera.corner(cell);
    context.strokeStyle = this.look.accent;
    context.lineWidth = 2;
    context.strokeRect(left + x - 2, top + y - 2, camera.chip + 4, camera.chip + 4);
  }
}

/** Along one side of a tile, the cells of each server, and the gaps between its chips, in pixels of the canvas. */
interface Line {
  spans: { cell: number; cells: number; start: number; length: number }[];
  gaps: number[];
}

function lineIn(camera: Camera, block: number, whole: (value: number) => number): Line {
  const { side } = camera.to;
  const cells = Array.from({ length: side }, (_, cell) => cell);
  const spans = cells
    .filter((cell) => cell % block === 0)
    .map((cell) => {
      const count = Math.min(block, side - cell);
      const start = whole(camera.along(cell, block));
      const length = whole(camera.along(cell + count - 1, block) + camera.chip) - start;
      return { cell, cells: count, start, length };
    });
  const inside = cells.filter((cell) => cell % block);
  return { spans, gaps: inside.map((cell) => whole(camera.along(cell, block) - camera.spacing.gap)) };
}

/** Ink or paper, whichever contrasts more with a chip's color. */
function legible({ codes, inks, ink, paper }: Look, chip: number): string {
  const light = (channels: number[]) =>
    channels.reduce((sum, channel, index) => sum + channel * ([0.3, 0.6, 0.1][index] ?? 0), 0);
  const word = inks.colors[codes[chip] ?? 0] ?? 0;
  const below = light([word & 255, (word >> 8) & 255, (word >> 16) & 255]);
  const [a, b] = [ink, paper].map((color) => Math.abs(light((color.match(/[\d.]+/g) ?? []).map(Number)) - below));
  return (a ?? 0) > (b ?? 0) ? ink : paper;
}

/** ◐ ✕ ◆ as 12 pixels, by a state's index in STATES. */
function glyph(context: CanvasRenderingContext2D, state: number, [x, y]: readonly [number, number], ink: string): void {
  context.fillStyle = ink;
  context.strokeStyle = ink;
  context.lineWidth = 2;
  context.beginPath();
  if (state === 1) {
    context.arc(x, y, 4.5, 0, 2 * Math.PI);
    context.stroke();
    context.beginPath();
    context.arc(x, y, 4.5, -Math.PI / 2, Math.PI / 2);
    context.fill();
  } else if (state === 2) {
    for (const turn of [-1, 1]) {
      context.moveTo(x - 4, y - 4 * turn);
      context.lineTo(x + 4, y + 4 * turn);
    }
    context.stroke();
  } else {
    context.moveTo(x, y - 5);
    for (const [dx, dy] of [
      [5, 0],
      [0, 5],
      [-5, 0],
    ] as const)
      context.lineTo(x + dx, y + dy);
    context.fill();
  }
}
