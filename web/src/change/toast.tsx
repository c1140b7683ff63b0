// The toast that confirms a change for six seconds, with *Undo*.
import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { ApiError } from "../api";
import { useAsOf } from "../live";
import { isTyping } from "../shortcuts";
import "../style/toast.css";

const STAYS = 6000;

export interface ToastContent {
  message: preact.ComponentChildren;
  /** Undo the change. */
  undo?: (() => Promise<unknown>) | undefined;
}

let host: HTMLElement | undefined;
let count = 0;

/** The live region, which must exist before its first message. */
export function toastHost(): HTMLElement {
  if (host) return host;
  host = document.body.appendChild(document.createElement("div"));
  host.className = "toasts made";
  host.setAttribute("role", "status");
  return host;
}

/** Show a message in place of the earlier one. */
export function showToast(said: ToastContent): void {
  const host = toastHost();
  render(<Toast key={count++} said={said} close={() => render(null, host)} />, host);
}

function Toast({ said: { message, undo }, close }: { said: ToastContent; close: () => void }) {
  const { asof } = useAsOf();
  const [kept, keep] = useState(false);
  const [since, follow] = useState("");
  useEffect(() => {
    if (kept) return;
    const timer = setTimeout(close, STAYS);
    return () => clearTimeout(timer);
  }, [kept, since]);
  const back = () => {
    follow("Undoing…");
    keep(true);
    undo?.().then(
      () => {
        follow("Undone. Everything is back as it was.");
        keep(false);
      },
      (error: ApiError) => follow(`Undo failed: ${error.message}`),
    );
  };
  const isUndoable = undo !== undefined && !since && !asof;
  useLayoutEffect(() => {
    if (!isUndoable) return;
    const press = (event: KeyboardEvent) => {
      if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || isTyping(event)) return;
      event.preventDefault();
      back();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [isUndoable]);
  return (
    <p
      class="toast"
      onPointerEnter={() => keep(true)}
      onPointerLeave={() => keep(false)}
      onFocusIn={() => keep(true)}
      onFocusOut={() => keep(false)}
    >
      {since || message}
      {isUndoable && (
        <button type="button" data-writes aria-keyshortcuts="Control+Z" onClick={back}>
          Undo <kbd>Ctrl Z</kbd>
        </button>
      )}
      {since.startsWith("Undo failed") && (
        <button type="button" onClick={close}>
          Close
        </button>
      )}
    </p>
  );
}
