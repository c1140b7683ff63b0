// The palette: find a place, host, job, report, reason, time or docs page by a few letters, or run an action.
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiError, makeQuery, runQuery } from "../api";
import { useCanWrite } from "../change/proposal";
import { useLeaving, useRoute } from "../route";
import { Icon } from "../shell/icons";
import { Glyph } from "../state";
import { currentAddress, type Errand } from "./actions";
import { addressOf } from "./addresses";
import { CATALOG_QUERY, type Catalog, REASONS, type Reason, SEARCH } from "./documents";
import { type Answer, incidentNumber, type Option, optionsOf } from "./options";

const PAUSE = 50;
/** The shortest text that is searched for in reasons, and how long it rests before: every event is read. */
const [SHORTEST, REST] = [3, 200];
const ASKED: Record<Errand, string> = {
  state: "Which part? s1/c5, host, i-0a1…",
  drain: "Which place? d7/s2, r3, host",
};

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

interface Searched extends Answer {
  error?: ApiError;
}

const NOTHING: Searched = { text: "", hits: [], closed: [] };

/** Search for a text as it is and as the address that it means. */
async function search(text: string, here: string, clusters: string[], signal: AbortSignal): Promise<Searched> {
  const near = here || null;
  const meant = addressOf(text, clusters);
  const incident = incidentNumber(text) ?? null;
  const variables = { near, incident, isNumber: incident !== null };
  const find = (each: string) => runQuery(makeQuery(SEARCH, { ...variables, text: each }), signal);
  const [found, other] = await Promise.all([find(text), meant ? find(meant) : undefined]);
  const hits = new Map([...(other?.search ?? []), ...found.search].map((hit) => [`${hit.kind} ${hit.name}`, hit]));
  return { text, hits: [...hits.values()], closed: [...(found.closedIncidents?.nodes ?? [])] };
}

/** Changes with a text in their reasons; undefined while they are searched for. */
function useReasons(text: string): Reason[] | undefined {
  const [found, setFound] = useState<{ text: string; reasons: Reason[] }>();
  useEffect(() => {
    if (text.length < SHORTEST) return;
    const control = new AbortController();
    const keep = (reasons: Reason[]) => control.signal.aborted || setFound({ text, reasons });
    const timer = setTimeout(() => {
      runQuery(makeQuery(REASONS, { text }), control.signal).then(
        ({ events }) => keep(events.nodes),
        () => keep([]),
      );
    }, REST);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text]);
  return text.length < SHORTEST ? [] : found?.text === text ? found.reasons : undefined;
}

function useAnswer(text: string, here: string, clusters: string[]): Searched {
  const [answer, setAnswer] = useState(NOTHING);
  useEffect(() => {
    if (!text) return setAnswer({ ...NOTHING, text });
    const control = new AbortController();
    const timer = setTimeout(() => {
      search(text, here, clusters, control.signal).then(
        (found) => control.signal.aborted || setAnswer(found),
        (error) => control.signal.aborted || setAnswer({ ...NOTHING, text, error }),
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text, here, clusters.length]);
  return answer;
}

/** What the palette matches by itself; loaded each time that it opens. */
function useCatalog(): Catalog | undefined {
  const [catalog, setCatalog] = useState<Catalog>();
  useEffect(() => {
    const control = new AbortController();
    runQuery(CATALOG_QUERY, control.signal).then(setCatalog, () => {});
    return () => control.abort();
  }, []);
  return catalog;
}

function Palette({ begun, isEntered, close }: { begun: string; isEntered: boolean; close: () => void }) {
  const route = useRoute();
  const box = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState(begun);
  const [index, setAt] = useState(0);
  const hurried = useRef(isEntered);
  const here = currentAddress(route);
  const text = typed.trim();
  const catalog = useCatalog();
  const answer = useAnswer(
    text,
    here,
    useMemo(() => catalog?.clusters.nodes.map(({ slug }) => slug) ?? [], [catalog]),
  );
  const reasons = useReasons(text);
  const [errand, setErrand] = useState<Errand>();
  const options = optionsOf(answer, {
    typed: text,
    here,
    route,
    may: useCanWrite(),
    catalog,
    reasons: reasons ?? [],
    errand,
  });
  const current = Math.min(index, options.length - 1);
  const isAnswered = answer.text === text;
  useLayoutEffect(() => box.current?.showModal(), []);
  useLeaving(box);
  useEffect(() => document.getElementById(`option-${current}`)?.scrollIntoView({ block: "nearest" }), [current]);
  const choose = (option: Option | undefined, apart: boolean) => {
    if (!option) return;
    if (typeof option.does === "object") {
      setErrand(option.does.asks);
      setTyped("");
      setAt(0);
      return;
    }
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
    else if (isAnswered || index || options[0]?.rank === 1) choose(options[current], event.ctrlKey || event.metaKey);
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
          aria-label={errand ? ASKED[errand] : "Address, host, job, report, reason, time or command"}
          aria-expanded={options.length > 0}
          aria-controls="options"
          aria-autocomplete="list"
          aria-activedescendant={options.length ? `option-${current}` : undefined}
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          placeholder={errand ? ASKED[errand] : "chip, host, job, ticket, time"}
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setAt(0);
            hurried.current = false;
          }}
          onKeyDown={press}
        />
        <button type="button" class="plain" aria-label="Close" onClick={() => box.current?.close()}>
          <kbd>Esc</kbd>
        </button>
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
                    key={`${option.group} ${option.description} ${option.name}`}
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
        {answer.error?.message ?? (isAnswered && reasons && text && !options.length ? `No match for ${text}.` : "")}
      </p>
      <footer>
        <kbd>↑</kbd> <kbd>↓</kbd> select <kbd>↵</kbd> open <kbd>Ctrl ↵</kbd> in a new tab
      </footer>
    </dialog>
  );
}
