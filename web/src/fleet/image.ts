// All chips as one image, in which each pixel shows the worst state that it covers.
import type { Layout } from "./layout";
import type { Overview } from "./overview";

/** Packed colors by code, and the rank of each where several codes share a pixel. */
export interface Inks {
  colors: Uint32Array;
  ranks: Uint8Array;
}

/** Pixels per side of a tile at which each cell is one pixel. */
export const plain = ({ side }: Layout) => side + 1;

/** Where tiles and cells begin along one side of an image, given the pixels per tile; a cell has at least one pixel. */
function ticks(count: number, side: number, tile: number): [from: Int32Array, to: Int32Array] {
  const [from, to] = [new Int32Array(count * side), new Int32Array(count * side)];
  const gap = tile >= 4 ? Math.max(1, Math.round(tile / (side + 1))) : 0;
  for (let index = 0; index < count; index++) {
    const start = Math.round(index * tile);
    const length = Math.max(1, Math.round((index + 1) * tile) - start - gap);
    for (let cell = 0; cell < side; cell++) {
      const first = start + Math.floor((cell * length) / side);
      from[index * side + cell] = first;
      to[index * side + cell] = Math.max(first + 1, start + Math.floor(((cell + 1) * length) / side));
    }
  }
  return [from, to];
}

/** Build the image at a number of pixels per tile. */
export const sizeOf = ({ columns, rows }: Layout, tile: number) =>
  [Math.ceil(columns * tile) + 1, Math.ceil(rows * tile) + 1] as const;

export function renderImage(
  overview: Overview,
  to: Layout,
  codes: Uint8Array,
  inks: Inks,
  tile: number,
): HTMLCanvasElement {
  const [width, height] = sizeOf(to, tile);
  const image = new ImageData(width, height);
  const words = new Uint32Array(image.data.buffer);
  const seen = tile < plain(to) ? new Uint8Array(words.length) : null;
  const { side, columns } = to;
  const [left, right] = ticks(columns, side, tile);
  const [top, bottom] = ticks(to.rows, side, tile);
  let chip = 0;
  overview.parts.forEach((part, index) => {
    const within = to.within[index] as Uint16Array;
    for (let domain = part.firstDomain; domain < part.firstDomain + part.domains; domain++) {
      const [column, row] = [(domain % columns) * side, Math.floor(domain / columns) * side];
      for (let own = 0; own < part.perDomain; own++, chip++) {
        const cell = within[own] as number;
        const [x, y] = [column + (cell % side), row + Math.floor(cell / side)];
        const [from, until] = [left[x] as number, right[x] as number];
        const code = codes[chip] as number;
        const rank = inks.ranks[code] as number;
        for (let line = top[y] as number; line < (bottom[y] as number); line++) {
          for (let pixel = line * width + from; pixel < line * width + until; pixel++) {
            if (seen) {
              if ((seen[pixel] as number) >= rank) continue;
              seen[pixel] = rank;
            }
            words[pixel] = inks.colors[code] as number;
          }
        }
      }
    }
  });
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas;
}
