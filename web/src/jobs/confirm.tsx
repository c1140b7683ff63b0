// The dialog that carries a plan out, step by step: what it leaves, who says so, what failed.
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ApiError, graphql, makeQuery, useQuery } from "../api";
import { NameField, readName } from "../change/name";
import { useViewer } from "../change/proposal";
import { showToast } from "../change/toast";
import { refresh } from "../live";
import { Change, Loading } from "../parts";
import "../style/change.css";
import { number, pluralize } from "../words";
import type { JobAction } from "./actions";
import { shortPlaces } from "./placements";

const MOST = 200;
const FREE_THEN = graphql(`
  query FreeThen($scope: Address!, $with: [AssumedAllocationInput!]!) {
    free(scope: $scope) { free largestBlock concurrentJobs { chips jobs } }
    whatIf(with: $with) { free(scope: $scope) { free largestBlock concurrentJobs { chips jobs } } }
  }
`);

/** Open the dialog over the page; what had the focus has it again afterwards. */
export function open(doing: JobAction): void {
  if (document.querySelector("dialog.change")) return;
  const host = document.body.appendChild(document.createElement("div"));
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(<Dialog doing={doing} close={close} />, host);
}

function Dialog({ doing, close }: { doing: JobAction; close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const viewer = useViewer();
  const [done, setDone] = useState(0);
  const [failed, fail] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const { title, asks, steps, allocated, warns } = doing;
  // what is left was planned for another state: no second try is of use
  const isOver = failed !== undefined && (done > 0 || failed.code === "STALE_PLAN");
  useLayoutEffect(() => {
    box.current?.showModal();
    const first = box.current?.querySelector<HTMLElement>(".body input");
    (first ?? box.current?.querySelector<HTMLElement>("[type=submit]"))?.focus();
  }, []);
  const shut = () => box.current?.close();
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isOver) return shut();
    const form = new FormData(event.target as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const who = asks.includes("who") ? readName(form, viewer) : null;
    const input = { job: text("job"), why: text("why"), who };
    setBusy(true);
    fail(undefined);
    try {
      for (let index = 0; index < steps.length; index++) {
        await steps[index]?.does(input);
        setDone(index + 1);
      }
    } catch (error) {
      fail(error as ApiError);
      setBusy(false);
      refresh();
      return;
    }
    shut();
    refresh();
    const undo = doing.undo;
    showToast({ message: doing.done(input), undo: undo && (() => undo(input).finally(refresh)) });
  };
  return (
    <dialog class="change" ref={box} aria-labelledby="doing" onClose={close}>
      <form onSubmit={send}>
        <header>
          <h2 id="doing">{title}</h2>
          <button type="button" class="square" aria-label="Close" onClick={shut}>
            <span aria-hidden="true">×</span>
          </button>
        </header>
        <div class="body">
          {asks.includes("job") && (
            <label>
              Job name
              <input name="job" required maxLength={MOST} pattern=".*\S.*" title="A name" autocomplete="off" />
            </label>
          )}
          {asks.includes("why") && (
            <label>
              Reason, kept with the change
              <input name="why" required maxLength={MOST} pattern=".*\S.*" title="A reason" autocomplete="off" />
            </label>
          )}
          {asks.includes("who") && <NameField viewer={viewer} most={MOST} />}
          <section class="would" aria-label="Steps">
            <h3>Steps</h3>
            <ol class="steps does">
              {steps.map(({ description }, index) => (
                <li key={description}>
                  {description}
                  {index < done && <span class="quiet">done ✓</span>}
                </li>
              ))}
            </ol>
            {allocated && <FreeChange {...allocated} />}
            {warns && <p class="quiet">{warns}</p>}
          </section>
          {failed && (
            <p class="failure" role="alert">
              {done > 0 && `Step ${done} succeeded, step ${done + 1} failed: `}
              {failed.message}
              {isOver && ". The page now shows a new plan."}
            </p>
          )}
        </div>
        <footer>
          <span class="quiet">{viewer?.name ? `As ${viewer.name}` : ""}</span>
          {isOver ? (
            <button type="submit" class="main">
              Show the new plan
            </button>
          ) : (
            <>
              <button type="button" onClick={shut}>
                Cancel
              </button>
              <button type="submit" class="main" data-writes disabled={busy || !viewer}>
                {title}
              </button>
            </>
          )}
        </footer>
      </form>
    </dialog>
  );
}

/** What of the scope is free before and after. */
function FreeChange({ scope, places }: { scope: string; places: string[] }) {
  const result = useQuery(makeQuery(FREE_THEN, { scope, with: [{ job: "new allocation", places }] }));
  return (
    <Loading result={result}>
      {({ free, whatIf: { free: then } }) => {
        const after = new Map(then.concurrentJobs.map(({ chips, jobs }) => [chips, jobs]));
        const rows: [string, number, number][] = [
          [`Free chips in ${scope}`, free.free, then.free],
          ["Largest free block", free.largestBlock, then.largestBlock],
          ...free.concurrentJobs.map(({ chips, jobs }): [string, number, number] => [
            `Concurrent jobs of ${pluralize(chips, "chip")}`,
            jobs,
            after.get(chips) ?? 0,
          ]),
        ];
        return (
          <dl class="figures">
            <div>
              <dt>Chips</dt>
              <dd>
                <strong>{shortPlaces(scope, places)}</strong>
              </dd>
            </div>
            {rows
              .filter(([, before, now], index) => !index || before !== now)
              .map(([name, before, now]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <Change before={number(before)} now={number(now)} />
                  </dd>
                </div>
              ))}
          </dl>
        );
      }}
    </Loading>
  );
}
