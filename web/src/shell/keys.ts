// Single keys press the element that declares them with aria-keyshortcuts; G and a letter opens a view. All can be off.
import { useEffect } from "preact/hooks";
import { href } from "../route";
import { isSingleKey } from "../shortcuts";

const KEPT = "trninv keys";
/** How long G waits for a letter, in milliseconds. */
const PAUSE = 1500;

const PLACES: Record<string, string> = {
  f: "home",
  i: "incidents",
  j: "jobs",
  c: "compare",
  r: "reports",
  q: "query",
  s: "sources",
};

export const areEnabled = () => localStorage.getItem(KEPT) !== "off";

export function setEnabled(on: boolean): void {
  if (on) localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, "off");
}

export const showKeys = () => void import("./keylist").then((keys) => keys.open());

/** The element that a key presses by itself, or as the second key after G. */
function actOf(key: string, isSecond: boolean): (() => void) | undefined {
  const place = isSecond ? PLACES[key] : undefined;
  if (place) return () => location.assign(href(place));
  if (key === "?") return showKeys;
  const named = document.querySelectorAll<HTMLElement>(`[aria-keyshortcuts~="${CSS.escape(key.toUpperCase())}"]`);
  const pressed = [...named].find((element) => element.checkVisibility());
  if (!pressed) return undefined;
  return () => {
    pressed.focus();
    pressed.click();
  };
}

/** Handle keys before the focused element does; keys that are off or handled go no further. */
export function useSingleKeys(): void {
  useEffect(() => {
    let begun = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent) => {
      const { key, timeStamp } = event;
      if (key.length !== 1 || key === " " || !isSingleKey(event)) return;
      if (!areEnabled()) return event.stopImmediatePropagation();
      const act = actOf(key, timeStamp - begun < PAUSE);
      begun = key === "g" ? timeStamp : Number.NEGATIVE_INFINITY;
      if (!act && key !== "g") return;
      event.preventDefault();
      event.stopImmediatePropagation();
      act?.();
    };
    document.addEventListener("keydown", press, true);
    return () => document.removeEventListener("keydown", press, true);
  }, []);
}
