// A single key, wherever nothing is being typed.
import { useLayoutEffect } from "preact/hooks";

/** Hears a key as long as it is not null. */
export function usePressed(key: string | null, act: () => void): void {
  useLayoutEffect(() => {
    if (!key) return;
    const press = (event: KeyboardEvent) => {
      const types = (event.target as HTMLElement).closest("input, select, textarea, [contenteditable], dialog");
      if (types || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.key !== key)
        return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}
