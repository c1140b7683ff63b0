// The dialog that runs a plan step by step: a preview, the user's name and reason, and the step that failed.
import { useState } from "preact/hooks";
import { type ApiError, graphql, makeQuery, useQuery } from "../api";
import { ChangeDialog, type FormInput, openDialog } from "../change/confirmation";
import { refresh } from "../live";
import { Change, Loading } from "../parts";
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

export function open(doing: JobAction): void {
  openDialog((close) => <Plan doing={doing} close={close} />);
}

function Plan({ doing, close }: { doing: JobAction; close: () => void }) {
  const [done, setDone] = useState(0);
  const { title, asks, steps, allocated, warns, undo } = doing;
  const apply = async (input: FormInput) => {
    for (let index = 0; index < steps.length; index++) {
      await steps[index]?.does(input);
      setDone(index + 1);
    }
    refresh();
    return { message: doing.done(input), undo: undo && (() => undo(input).finally(refresh)) };
  };
  // the rest of the plan is for an older revision, so a retry cannot succeed
  const ending = ({ code }: ApiError) => (done > 0 || code === "STALE_PLAN" ? "Show the new plan" : undefined);
  const describe = (error: ApiError) =>
    (done > 0 ? `Step ${done} succeeded, step ${done + 1} failed: ` : "") +
    error.message +
    (ending(error) ? ". The page now shows a new plan." : "");
  return (
    <ChangeDialog title={title} asks={asks} most={MOST} apply={apply} ending={ending} describe={describe} close={close}>
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
    </ChangeDialog>
  );
}

/** Free capacity of the scope before and after. */
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
