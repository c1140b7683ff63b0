// A single key, unless the user is typing.
import { useLayoutEffect } from "preact/hooks";

const FIELD = "input:not([type=radio], [type=checkbox]), select, textarea, [contenteditable], dialog";

/** Whether a key goes to a visible field or dialog; a dialog that was just closed keeps the focus until the next frame. */
export const isTyping = ({ target }: Event) => target instanceof Element && target.closest(FIELD)?.checkVisibility();

/** Whether a key is pressed alone, outside any field, and not handled yet. */
export const isSingleKey = (event: KeyboardEvent) =>
  !(event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event));

/** Handle a key while its handler is not null. */
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
