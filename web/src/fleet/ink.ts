// The theme's tokens as colors of a canvas.
import { useEffect, useState } from "preact/hooks";
import { type ChipColors, isChosen, rankCodes } from "./color";
import type { Inks } from "./image";

const FADED = 0.15;

/** System colors for states, which glyphs distinguish, and for their frame; data keep their own colors. */
const FORCED: Record<string, string> = {
  up: "GrayText",
  degraded: "CanvasText",
  down: "CanvasText",
  maintenance: "CanvasText",
  surface: "Canvas",
  ink: "CanvasText",
  accent: "Highlight",
};

/** The value of a token on this page, or on a light one. */
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

const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);

export const hexOf = (color: string) =>
  `#${channels(color)
    .slice(0, 3)
    .map((channel) => Math.round(channel).toString(16).padStart(2, "0"))
    .join("")}`;

/** Fade codes that are not selected. */
export function inksOf(colored: ChipColors, only: Set<string>): Inks {
  const colors = colored.shades.map(({ keys, token }) => {
    const [r = 0, g = 0, b = 0] = channels(inkOf(token));
    const alpha = Math.round(255 * (isChosen(only, keys) ? 1 : FADED));
    return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
  return { colors: Uint32Array.from(colors), ranks: rankCodes(colored, only) };
}

const QUERIES = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((query) => matchMedia(query));
const looks = () => [document.documentElement.dataset.theme, ...QUERIES.map(({ matches }) => matches)].join();

/** A text that changes whenever the tokens do. */
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
