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
    /** Where some cells of a block begin, and how long they are. */
    const span = (start: number, cell: number, block: number): [from: number, length: number, cells: number] => {
      const cells = Math.min(block, side - cell);
      const from = whole(start + camera.along(cell, block));
      return [from, whole(start + camera.along(cell + cells - 1, block) + camera.chip) - from, cells];
    };
    context.fillStyle = this.look.paper;
    for (const [domain, column, row] of this.seen(camera)) {
      const [left, top] = camera.corner([column, row, 0, 0]);
      const [wide, high] = seam ? blockAt(overview, to, domain) : [side, side];
      for (let cellY = 0; cellY < side; cellY += high) {
        const [above, height, down] = span(top + y, cellY, high);
        for (let cellX = 0; cellX < side; cellX += wide) {
          const [from, width, across] = span(left + x, cellX, wide);
          const [fromX, fromY] = [column * plain(to) + cellX, row * plain(to) + cellY];
          context.drawImage(this.cells, fromX, fromY, across, down, from, above, width, height);
        }
      }
      const all = whole(camera.side);
      for (let cell = 1; gap && cell < side; cell++) {
        const [across, down] = [left + x + camera.along(cell, wide), top + y + camera.along(cell, high)];
        context.fillRect(whole(across - gap), whole(top + y), whole(gap), all);
        context.fillRect(whole(left + x), whole(down - gap), all, whole(gap));
      }
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
    for (const [, column, row] of this.seen(camera)) {
      for (let cell = 0; cell < to.side ** 2; cell++) {
        const corner: Cell = [column, row, cell % to.side, Math.floor(cell / to.side)];
        const chip = chipAt(overview, to, corner);
        if (chip < 0) continue;
        const [left, top] = camera.corner(corner);
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
