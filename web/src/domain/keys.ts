// Keys of the domain view: what is chosen becomes From (F) or To (T), or is supposed down (D); X swaps the ends.
import { useEffect } from "preact/hooks";
import { change, chosen, type Route } from "../route";
import { below } from "../words";

export function useKeys(route: Route, from: string, to: string, toggle: (address: string) => void): void {
  useEffect(() => {
    const short = (address: string) => below(route.of, address) || undefined;
    const press = (event: KeyboardEvent) => {
      const types = (event.target as HTMLElement).closest("input, select, textarea, [contenteditable], dialog");
      if (types || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const sel = chosen(route);
      const chip = /\/c\d+$/.test(sel);
      if (event.key === "f" && chip) change({ from: short(sel) });
      else if (event.key === "t" && chip) change({ to: short(sel) });
      else if (event.key === "x" && (from || to)) change({ from: short(to), to: short(from) });
      else if (event.key === "d" && sel) toggle(sel);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [route, from, to, toggle]);
}
