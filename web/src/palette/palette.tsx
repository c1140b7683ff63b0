// The palette: find an address, host, instance, job or report by a few letters, or run an action.
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ApiError, makeQuery, runQuery } from "../api";
import { useCanWrite } from "../change/proposal";
import { type Route, useRoute } from "../route";
import { Icon, type IconName } from "../shell/icons";
import { Glyph } from "../state";
import { relativeTo } from "../words";
import { actions, currentAddress, hrefOf } from "./actions";
import { type Hit, SEARCH } from "./documents";

const PAUSE = 50;
const NOUNS: Record<string, string> = { nic: "NIC", network_node: "network node" };

interface Answer {
  text: string;
  hits: Hit[];
  error?: ApiError;
}

interface Option {
  group: string;
  name: string;
  description: string;
  icon: IconName | undefined;
  state: string;
  does: string | (() => void);
}

/** Open the palette; the focus returns afterwards. */
export function open(typed = "", isEntered = false): void {
  if (document.querySelector("dialog.palette")) return;
  const host = document.body.appendChild(document.createElement("div"));
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(<Palette begun={typed} isEntered={isEntered} close={close} />, host);
}

function useHits(text: string, here: string): Answer {
  const [answer, setAnswer] = useState<Answer>({ text: "", hits: [] });
  useEffect(() => {
    if (!text) return setAnswer({ text, hits: [] });
    const control = new AbortController();
    const timer = setTimeout(() => {
      runQuery(makeQuery(SEARCH, { text, near: here || null }), control.signal).then(
        ({ search }) => control.signal.aborted || setAnswer({ text, hits: search }),
        (error) => control.signal.aborted || setAnswer({ text, hits: [], error }),
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text, here]);
  return answer;
}

function optionsOf({ text, hits }: Answer, typed: string, here: string, route: Route, may: boolean): Option[] {
  const place = here.split("--")[0]?.split("/").slice(0, 2).join("/") ?? "";
  const isHere = ({ address }: Hit) =>
    Boolean(place && address && (address === place || address.startsWith(`${place}/`)));
  const optionOf = (hit: Hit): Option => ({
    group: isHere(hit) ? `In ${place}` : place ? "Elsewhere" : "Results",
    name: isHere(hit) && hit.name === hit.address ? relativeTo(place, hit.name) : hit.name,
    description: [NOUNS[hit.kind] ?? hit.kind, hit.address !== hit.name && hit.address].filter(Boolean).join(" · "),
    icon: hit.kind === "job" ? "jobs" : hit.address === null ? "reports" : undefined,
    state: (hit.target && "state" in hit.target && hit.target.state) || "up",
    does: hrefOf(hit, route),
  });
  const done = actions(typed, text === typed ? hits[0] : undefined, route, may);
  return [
    ...hits.filter(isHere).map(optionOf),
    ...hits.filter((hit) => !isHere(hit)).map(optionOf),
    ...done.map((action) => ({
      group: "Actions",
      name: action.name,
      description: "",
      icon: action.icon,
      state: "up",
      does: action.does,
    })),
  ];
}

function Palette({ begun, isEntered, close }: { begun: string; isEntered: boolean; close: () => void }) {
  const route = useRoute();
  const box = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState(begun);
  const [index, setAt] = useState(0);
  const hurried = useRef(isEntered);
  const here = currentAddress(route);
  const text = typed.trim();
  const answer = useHits(text, here);
  const options = optionsOf(answer, text, here, route, useCanWrite());
  const current = Math.min(index, options.length - 1);
  const isAnswered = answer.text === text;
  useLayoutEffect(() => box.current?.showModal(), []);
  useEffect(() => document.getElementById(`option-${current}`)?.scrollIntoView({ block: "nearest" }), [current]);
  const choose = (option: Option | undefined, apart: boolean) => {
    if (!option) return;
    box.current?.close();
    if (typeof option.does === "function") option.does();
    else if (apart) window.open(option.does, "_blank", "noopener");
    else location.assign(option.does);
  };
  useEffect(() => {
    if (!hurried.current || !isAnswered) return;
    hurried.current = false;
    choose(options[0], false);
  }, [isAnswered]);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) setAt((current + step + options.length) % options.length);
    else if (event.key !== "Enter") return;
    else if (isAnswered || index) choose(options[current], event.ctrlKey || event.metaKey);
    else hurried.current = true;
    event.preventDefault();
  };
  const groups = [...new Set(options.map((option) => option.group))];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      class="palette"
      ref={box}
      aria-label="Search and commands"
      onClose={close}
      onClick={(event) => event.target === box.current && box.current?.close()}
    >
      <div class="typed">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Address, host, instance, job, report or command"
          aria-expanded={options.length > 0}
          aria-controls="options"
          aria-autocomplete="list"
          aria-activedescendant={options.length ? `option-${current}` : undefined}
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          placeholder="s1/c5, host, i-0a1…, job, report"
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setAt(0);
            hurried.current = false;
          }}
          onKeyDown={press}
        />
        <kbd>Esc</kbd>
      </div>
      <div
        id="options"
        hidden={!options.length}
        role="listbox"
        aria-label="Results"
        class={isAnswered ? "" : "stale"}
        aria-busy={!isAnswered}
      >
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: a listbox has groups, not fieldsets
          <div key={group} role="group" aria-label={group}>
            <p aria-hidden="true">{group}</p>
            {options.map(
              (option, number) =>
                option.group === group && (
                  // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
                  <div
                    key={`${option.description} ${option.name}`}
                    id={`option-${number}`}
                    role="option"
                    tabIndex={-1}
                    aria-selected={number === current}
                    onClick={(event) => choose(option, event.ctrlKey || event.metaKey)}
                    onPointerMove={() => setAt(number)}
                  >
                    {option.icon ? <Icon name={option.icon} /> : <Glyph state={option.state} />}
                    <strong>{option.name}</strong>
                    <span class="quiet">
                      {option.description}
                      {option.state !== "up" && ` · ${option.state}`}
                    </span>
                  </div>
                ),
            )}
          </div>
        ))}
      </div>
      <p class="none" role="status">
        {answer.error?.message ?? (isAnswered && text && !answer.hits.length ? `No match for ${text}.` : "")}
      </p>
      <footer>
        <kbd>↑</kbd> <kbd>↓</kbd> select <kbd>↵</kbd> open <kbd>Ctrl ↵</kbd> in a new tab
      </footer>
    </dialog>
  );
}
