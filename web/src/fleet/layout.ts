// Where every chip of a cluster is drawn: a tile per domain, in rows; within a tile each server is a block of chips.
import { chipsOf, type Overview, type Part } from "./overview";

/** Tiles of cells, laid out as in trninv/drawing/fleet_map.py. */
export interface Layout {
  /** Cells along one side of a tile. */
  side: number;
  columns: number;
  rows: number;
  /** For each section, the cell of each chip within a domain's tile. */
  within: Uint16Array[];
  /** For each section, the width and height of a server's block, in cells. */
  blocks: [number, number][];
}

export const ASPECT = 1.6;

/** Lay out tiles in so many columns; by default as many as fill a box of this aspect ratio. */
export function layoutOf({ domains, parts }: Overview, aspect = ASPECT, wanted = 0): Layout {
  const blocks = parts.map(blockOf);
  const across = parts.map(({ servers }) => Math.ceil(Math.sqrt(servers)));
  const sides = parts.map(({ servers }, index) => {
    const [wide, high] = blocks[index] as [number, number];
    const along = across[index] as number;
    return Math.max(wide * along, high * Math.ceil(servers / along));
  });
  const side = Math.max(...sides);
  const columns = wanted || Math.min(domains, Math.ceil(Math.sqrt(domains * aspect)));
  const within = parts.map(({ perDomain, perServer }, index) => {
    const [wide, high] = blocks[index] as [number, number];
    const along = across[index] as number;
    return Uint16Array.from({ length: perDomain }, (_, chip) => {
      const [server, own] = [Math.floor(chip / perServer), chip % perServer];
      const x = (server % along) * wide + (own % wide);
      return (Math.floor(server / along) * high + Math.floor(own / wide)) * side + x;
    });
  });
  return { side, columns, rows: Math.ceil(domains / columns), within, blocks };
}

function blockOf({ perServer }: Part): [number, number] {
  const wide = Math.ceil(Math.sqrt(perServer));
  return [wide, Math.ceil(perServer / wide)];
}

/** Split a position into column and row of the tile, and the cell within it. */
export type Cell = [column: number, row: number, x: number, y: number];

const partAt = ({ parts }: Overview, domain: number) => parts.findLastIndex((part) => part.firstDomain <= domain);

/** The domain of a tile, or -1. */
export function domainAt({ domains }: Overview, { columns }: Layout, column: number, row: number): number {
  const domain = row * columns + column;
  return column < 0 || column >= columns || row < 0 || domain >= domains ? -1 : domain;
}

export function cellOf(overview: Overview, to: Layout, chip: number): Cell {
  const index = overview.parts.findLastIndex((part) => part.firstChip <= chip);
  const { firstDomain, firstChip, perDomain } = overview.parts[index] as Part;
  const own = chip - firstChip;
  const domain = firstDomain + Math.floor(own / perDomain);
  const cell = to.within[index]?.[own % perDomain] ?? 0;
  return [domain % to.columns, Math.floor(domain / to.columns), cell % to.side, Math.floor(cell / to.side)];
}

/** The chip drawn in a cell, or -1. */
export function chipAt(overview: Overview, to: Layout, [column, row, x, y]: Cell): number {
  const domain = domainAt(overview, to, column, row);
  if (domain < 0 || x < 0 || y < 0 || x >= to.side || y >= to.side) return -1;
  const inside = to.within[partAt(overview, domain)]?.indexOf(y * to.side + x) ?? -1;
  return inside < 0 ? -1 : chipsOf(overview, domain)[0] + inside;
}

/** The width and height of a domain's servers, in cells. */
export const blockAt = (overview: Overview, to: Layout, domain: number) =>
  to.blocks[partAt(overview, domain)] ?? [1, 1];
