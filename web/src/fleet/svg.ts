// The map as an SVG document, with one path per color, as trninv/drawing/fleet_map.py draws it.
import type { ChipColors } from "./color";
import { hexOf, inkOf } from "./ink";
import { ASPECT, cellOf, layoutOf } from "./layout";
import { chipsOf, type Overview } from "./overview";

/** The part of a chip's side that is its state's, if the chip is not in that color. */
const MARK = 0.5;

export function overviewSvg(overview: Overview, { codes, shades }: ChipColors, paper: string): string {
  const to = layoutOf(overview, ASPECT);
  const colors = shades.map(({ token }) => hexOf(inkOf(token, true)));
  const marks = shades.map(({ mark }) => mark && hexOf(inkOf(mark, true)));
  const marked: string[] = [];
  const paths = new Map<string, string[]>();
  for (let domain = 0; domain < overview.domains; domain++) {
    const [first, chips] = chipsOf(overview, domain);
    const own = codes.subarray(first, first + chips);
    const square = chips === to.side ** 2 && own.every((code) => code === own[0]);
    for (let index = 0; index < (square ? 1 : chips); index++) {
      const [column, row, x, y] = cellOf(overview, to, first + index);
      const side = square ? to.side : 1;
      const [left, top] = [1 + column * (to.side + 1) + x, 1 + row * (to.side + 1) + y];
      const color = colors[own[index] ?? 0] as string;
      if (!paths.has(color)) paths.set(color, []);
      paths.get(color)?.push(`M${left} ${top}h${side}v${side}h-${side}z`);
    }
    for (let index = 0; index < chips; index++) {
      const mark = marks[own[index] ?? 0];
      if (!mark) continue;
      const [column, row, x, y] = cellOf(overview, to, first + index);
      const inset = (1 - MARK) / 2;
      const [left, top] = [1 + column * (to.side + 1) + x + inset, 1 + row * (to.side + 1) + y + inset];
      marked.push(`<rect fill="${mark}" x="${left}" y="${top}" width="${MARK}" height="${MARK}"/>`);
    }
  }
  const shapes = [...paths].sort().map(([color, path]) => `<path fill="${color}" d="${path.join("")}"/>`);
  const box = `viewBox="0 0 ${to.columns * (to.side + 1) + 1} ${to.rows * (to.side + 1) + 1}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box} shape-rendering="crispEdges"><title>${escapeXml(overview.cluster)}</title><rect width="100%" height="100%" fill="${paper}"/>${shapes.join("")}${marked.join("")}</svg>\n`;
}

const escapeXml = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
