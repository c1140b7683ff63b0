// The tokens of the theme as a canvas takes them.
import { useEffect, useState } from "preact/hooks";
import { type ChipColors, isChosen, rankCodes } from "./color";
import type { Inks } from "./image";

const FADED = 0.15;

/** System colours of states, told apart by glyphs, and of their frame; data keep their own, as their swatches do. */
const FORCED: Record<string, string> = {
  up: "GrayText",
  degraded: "CanvasText",
  down: "CanvasText",
  maintenance: "CanvasText",
  surface: "Canvas",
  "ink-2": "CanvasText",
  accent: "Highlight",
};

/** What a token is on this page, or would be on a light one. */
export function inkOf(token: string, light = false): string {
  const forced = !light && matchMedia("(forced-colors: active)").matches ? FORCED[token] : undefined;
  const probe = document.createElement("i");
  probe.style.color = forced ?? `var(--${token})`;
  if (light) probe.style.colorScheme = "light";
  if (!forced) probe.style.setProperty("forced-color-adjust", "none");
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

const channels = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number);

export const hexOf = (colour: string) =>
  `#${channels(colour)
    .slice(0, 3)
    .map((channel) => Math.round(channel).toString(16).padStart(2, "0"))
    .join("")}`;

/** Codes that are not chosen fade. */
export function inksOf(coloured: ChipColors, only: Set<string>): Inks {
  const colours = coloured.entries.map(({ key, token }) => {
    const [r = 0, g = 0, b = 0] = channels(inkOf(token));
    const alpha = Math.round(255 * (isChosen(only, key) ? 1 : FADED));
    return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
  return { colours: Uint32Array.from(colours), ranks: rankCodes(coloured, only) };
}

const QUERIES = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((query) => matchMedia(query));
const looks = () => [document.documentElement.dataset.theme, ...QUERIES.map(({ matches }) => matches)].join();

/** Another text whenever the tokens are others. */
export function useLooks(): string {
  const [now, setNow] = useState(looks);
  useEffect(() => {
    const follow = () => setNow(looks());
    const watch = new MutationObserver(follow);
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    for (const query of QUERIES) query.addEventListener("change", follow);
    return () => {
      watch.disconnect();
      for (const query of QUERIES) query.removeEventListener("change", follow);
    };
  }, []);
  return now;
}
