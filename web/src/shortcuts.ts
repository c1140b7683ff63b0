// A single key, wherever nothing is being typed.
import { useLayoutEffect } from "preact/hooks";

const FIELD = "input:not([type=radio], [type=checkbox]), select, textarea, [contenteditable], dialog";

/** Whether a key goes to a field or a dialog that is seen: what a closed dialog held has the focus until the next frame. */
export const isTyping = ({ target }: Event) => target instanceof Element && target.closest(FIELD)?.checkVisibility();

/** Whether a key is pressed alone, nowhere in a field, and nobody has heard it. */
export const isSingleKey = (event: KeyboardEvent) =>
  !(event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event));

/** Hears a key as long as it is not null. */
export function useKey(key: string | null, act: () => void): void {
  useLayoutEffect(() => {
    if (!key) return;
    const press = (event: KeyboardEvent) => {
      if (event.key !== key || !isSingleKey(event)) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}
