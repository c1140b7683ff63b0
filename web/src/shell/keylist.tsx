// The list of keys, and the switch for single keys.
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import "../style/keylist.css";
import { useLeaving } from "../route";
import { areEnabled, setEnabled } from "./keys";

/** Groups of keys and what they do; keys in sequence or with the same meaning are separated by spaces. */
const KEYS: [string, [keys: string, does: string][]][] = [
  [
    "Everywhere",
    [
      ["Ctrl+K /", "search and commands"],
      ["?", "this list"],
      ["G then F I J C R Q S", "Fleet, Incidents, Jobs, Compare, Reports, Query, Sources"],
      ["A", "view another time"],
      ["Y", "copy the queries of this page"],
      ["S", "set the state of the selection"],
      ["C", "compare the selection"],
      ["Esc", "close"],
    ],
  ],
  [
    "Map of a cluster",
    [
      ["N P", "next, previous unhealthy place"],
      ["← → ↑ ↓", "move by chip, with Shift by domain"],
      ["Space Enter", "select; open the domain"],
      ["+ − 0", "zoom in, zoom out, show all"],
    ],
  ],
  [
    "Domain",
    [
      ["F T X", "set From, set To, swap them"],
      ["D", "take the selection down (what if)"],
      ["← → ↑ ↓", "move by chip, with Shift by server"],
      ["Enter I", "select; show details"],
      ["+ − 0 Q E", "zoom in, zoom out, show all; turn"],
    ],
  ],
  [
    "Timeline",
    [
      ["← →", "move by a minute, with Shift by an hour"],
      ["[ ]", "previous, next change"],
    ],
  ],
];

export function open(): void {
  if (document.querySelector("dialog[open]")) return;
  const host = document.body.appendChild(document.createElement("div"));
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(<Keys close={close} />, host);
}

function Keys({ close }: { close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const [on, setOn] = useState(areEnabled);
  useLayoutEffect(() => box.current?.showModal(), []);
  useLeaving(box);
  const choose = (enabled: boolean) => {
    setEnabled(enabled);
    setOn(enabled);
  };
  return (
    <dialog class="keylist" ref={box} aria-label="Keyboard shortcuts" onClose={close}>
      <h2>Keyboard shortcuts</h2>
      <label>
        <input type="checkbox" checked={on} onChange={(event) => choose(event.currentTarget.checked)} /> Enable
        single-key shortcuts
      </label>
      <p class="quiet">
        Ctrl+K, Tab, Enter, Space, Esc and the arrow keys always work. To open this list without shortcuts, press Ctrl+K
        and choose <em>Keyboard shortcuts</em>.
      </p>
      {KEYS.map(([group, keys]) => (
        <section key={group}>
          <h3>{group}</h3>
          <dl>
            {keys.map(([names, does]) => (
              <div key={names}>
                <dt>{names.split(" ").map((name) => (name === "then" ? " then " : <kbd key={name}>{name}</kbd>))}</dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
