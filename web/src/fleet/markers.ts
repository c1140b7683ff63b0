// Spots as markers on the screen: close ones merge, and very many are counted in a grid.
import { STATES, type State } from "../state";
import type { AllocationMap } from "./allocations";
import type { Camera, Pixel } from "./camera";
import { cellOf } from "./layout";
import type { Spot } from "./spots";

/** Pixels from the corner of the whole. */
export interface Marker {
  x: number;
  y: number;
  /** The worst spot of a marker. */
  spot: Spot;
  count: number;
  /** Pixels of its side if it is the square of a domain, or of a chip in it. */
  side?: number;
}

/** Pixels of a tile from which it can be a marker itself. */
const SQUARE = 16;
/** Minimum pixels between markers. */
const APART = 20;
const MOST = 400;
const GRID = 44;
/** Pixels per chip from which markers move to the corner, and from which chips have glyphs of their own. */
const MIN_CORNER_CHIP = 12;
export const GLYPHS = 16;

/** Build markers from spots in order, worst first; they leave the letters of jobs uncovered. */
export function mergeSpots(spots: Spot[], camera: Camera, jobs: AllocationMap | undefined): Marker[] {
  const tile = camera.side;
  if (camera.isSingle && tile >= SQUARE && camera.chip < GLYPHS) return squares(spots, camera, tile, jobs);
  const markers: Marker[] = [];
  const near = new Map<string, Marker[]>();
  for (const spot of spots) {
    if (camera.chip >= GLYPHS && !spot.offMap) continue;
    const [x, y] = jobs?.jobNumbers[spot.chip] ? besideLetter(spot, camera, tile) : placeOf(spot, camera);
    const [column, row] = [Math.floor(x / APART), Math.floor(y / APART)];
    const around = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].flatMap((dy) => near.get(`${column + dx} ${row + dy}`) ?? []));
    const other = around.find((marker) => Math.hypot(marker.x - x, marker.y - y) < APART);
    if (other) {
      other.count++;
      continue;
    }
    const marker = { x, y, spot, count: 1 };
    markers.push(marker);
    const key = `${column} ${row}`;
    near.set(key, [...(near.get(key) ?? []), marker]);
  }
  return markers;
}

/** Least pixels of the square of a single chip, in small domains this share of their side. */
const [CHIP, SHARE] = [12, 0.45];

/**
 * A domain of one server that is unhealthy as a square; for a single chip a smaller one, which covers the chip, or is in
 * the domain's corner if the letter of a job is in the middle.
 */
function squares(spots: Spot[], camera: Camera, side: number, jobs: AllocationMap | undefined): Marker[] {
  const markers = new Map<string, Marker>();
  for (const spot of spots) {
    const cell = cellOf(camera.overview, camera.to, spot.chip);
    const [column, row] = cell;
    const known = markers.get(`${column} ${row}`);
    if (known) {
      known.count++;
      continue;
    }
    const [left, top] = camera.corner([column, row, 0, 0]);
    const own = spot.chips > 1 ? side : Math.max(camera.chip, Math.min(CHIP, SHARE * side));
    const within = (start: number, chip: number) =>
      Math.max(start + own / 2, Math.min(start + side - own / 2, chip + camera.chip / 2));
    const [chipX, chipY] = camera.corner(jobs?.jobNumbers[spot.chip] ? [column, row, camera.to.side - 1, 0] : cell);
    const marker = { x: within(left, chipX), y: within(top, chipY), spot, count: 1, side: own };
    markers.set(`${column} ${row}`, marker);
  }
  return [...markers.values()];
}

/** The largest distance of a marker from the middle of a tile, at which it would cover the job's label there. */
const COVERING = 17;
/** The least distance of a marker from the middle, at which the label has room on the other side. */
const BESIDE = 7;

/** Whether a marker so far above or below the middle of a tile has its job's label on the other side of it. */
export const isBeside = (y: number) => Math.abs(y) >= BESIDE && Math.abs(y) < COVERING;

/** The place of a spot, or the upper right corner of its tile if the tile's label has no room beside it. */
function besideLetter(spot: Spot, camera: Camera, tile: number): Pixel {
  const [x, y] = placeOf(spot, camera);
  const [column, row] = cellOf(camera.overview, camera.to, spot.chip);
  const [left, top] = camera.corner([column, row, 0, 0]);
  const isCovering = Math.abs(left + tile / 2 - x) < COVERING && Math.abs(top + tile / 2 - y) < BESIDE;
  return isCovering ? [left + tile - 2, top + 2] : [x, y];
}

/** From the center of a marker to its edge, and a little beyond. */
const REACH = 13;

/**
 * The middle of a spot, or its upper right corner where chips are large; always below the name of its tile. A link
 * between two servers is amid them, as on Jobs.
 */
function placeOf({ chip, chips, servers }: Spot, camera: Camera): Pixel {
  if (servers) return amid(servers.flat(), camera);
  const cell = cellOf(camera.overview, camera.to, chip);
  const [first, last] = [cell, cellOf(camera.overview, camera.to, chip + chips - 1)].map((end) => camera.corner(end));
  const [x, y] = first as Pixel;
  const least = camera.isNear ? camera.corner([cell[0], cell[1], 0, 0])[1] + REACH : 0;
  const [right, bottom] = [(last?.[0] ?? x) + camera.chip, (last?.[1] ?? y) + camera.chip];
  return camera.chip < MIN_CORNER_CHIP
    ? [(x + right) / 2, Math.max(least, (y + bottom) / 2)]
    : [right, Math.max(least, y)];
}

/** The middle of chips. */
function amid(chips: number[], camera: Camera): Pixel {
  const corners = chips.map((chip) => camera.corner(cellOf(camera.overview, camera.to, chip)));
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length + camera.chip / 2;
  return [mean(corners.map(([x]) => x)), mean(corners.map(([, y]) => y))];
}

/** The markers within a window, or counts in a grid if there are too many. */
export function markersWithin(markers: Marker[], [left, top]: Pixel, [right, bottom]: Pixel): Marker[] {
  const seen = markers.filter(({ x, y }) => x >= left && x <= right && y >= top && y <= bottom);
  if (seen.length <= MOST) return seen;
  for (let cell = GRID; ; cell *= 1.5) {
    const counted = gridMarkers(seen, cell);
    if (counted.length <= MOST) return counted;
  }
}

function gridMarkers(markers: Marker[], cell: number): Marker[] {
  const grid = new Map<string, Marker>();
  for (const marker of markers) {
    const [column, row] = [Math.floor(marker.x / cell), Math.floor(marker.y / cell)];
    const cellMarker = grid.get(`${column} ${row}`);
    if (!cellMarker) grid.set(`${column} ${row}`, { ...marker, x: (column + 0.5) * cell, y: (row + 0.5) * cell });
    else {
      cellMarker.count += marker.count;
      if (worse(marker.spot.state, cellMarker.spot.state)) cellMarker.spot = marker.spot;
    }
  }
  return [...grid.values()];
}

const worse = (a: State, b: State) => STATES.indexOf(a) < STATES.indexOf(b);
