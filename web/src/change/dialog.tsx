// The dialog that sets a state.
import { render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Proposed } from "./asked";

/** Open the dialog over the page; what had the focus has it again afterwards. */
export function open(change: Proposed): void {
  if (document.querySelector("dialog.change")) return;
  const host = document.body.appendChild(document.createElement("div"));
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(<Dialog change={change} close={close} />, host);
}

function Dialog({ change, close }: { change: Proposed; close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => box.current?.showModal(), []);
  return (
    <dialog class="change" ref={box} aria-label="Set a state" onClose={close}>
      <h2>
        Set {change.places.join(", ")} {change.state}
      </h2>
    </dialog>
  );
}
