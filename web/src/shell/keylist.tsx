// The keys, and whether single ones act.
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import "../style/keylist.css";
import { areOn, turn } from "./keys";

/** Groups of what does what; keys that follow each other or stand for each other are apart by spaces. */
const KEYS: [string, [keys: string, does: string][]][] = [
  [
    "Everywhere",
    [
      ["Ctrl+K /", "find anything, or do something"],
      ["?", "these keys"],
      ["G then F I J C R S", "Fleet, Incidents, Jobs, Compare, Reports, Sources"],
      ["A", "as of another time"],
      ["Y", "copy the queries of the page"],
      ["S", "set the state of what is chosen"],
      ["C", "compare what is chosen"],
      ["Esc", "close what is open"],
    ],
  ],
  [
    "Map of a cluster",
    [
      ["N P", "next, previous cause of what is not up"],
      ["← → ↑ ↓", "from chip to chip, with Shift from domain to domain"],
      ["Space Enter", "choose; open the domain"],
      ["+ − 0", "nearer, farther, all of it"],
    ],
  ],
  [
    "Domain",
    [
      ["F T X", "what is chosen becomes From, To; swap them"],
      ["D", "suppose it down"],
      ["← → ↑ ↓", "from chip to chip, with Shift from server to server"],
      ["Enter I", "choose; what is known of it"],
      ["+ − 0 Q E", "nearer, farther, all of it; turn"],
    ],
  ],
  [
    "Timeline",
    [
      ["← →", "by a minute, with Shift by an hour"],
      ["[ ]", "to the change before, after"],
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
  const [on, setOn] = useState(areOn);
  useLayoutEffect(() => box.current?.showModal(), []);
  const choose = (is: boolean) => {
    turn(is);
    setOn(is);
  };
  return (
    <dialog class="keylist" ref={box} aria-label="Keys" onClose={close}>
      <h2>Keys</h2>
      <label>
        <input type="checkbox" checked={on} onChange={(event) => choose(event.currentTarget.checked)} /> Single letters
        and signs act
      </label>
      <p class="quiet">
        Without them: Ctrl+K, Tab, Enter, Space, Esc and arrows; the palette has <em>Keys</em>.
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
