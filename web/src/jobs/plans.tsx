// Plans, step by step: whom to move so that there is room, and what taking a place out of service does.
import { useState } from "preact/hooks";
import { asking, useAsked } from "../api";
import { Change, Shown } from "../parts";
import { change, href } from "../route";
import { counted, gigabytes, number } from "../words";
import { DRAIN, type Drain, given, type Moved, ROOM, type Room, type Want } from "./documents";
import { short } from "./fits";

export function MakeRoom({ scope, want }: { scope: string; want: Want }) {
  const [open, opened] = useState(false);
  const room = useAsked(open ? asking(ROOM, { of: scope, ...given(want) }) : null);
  return (
    <div class="inner">
      <button type="button" onClick={() => opened(true)} disabled={open}>
        Make room…
      </button>
      <Shown of={room}>{({ makeRoom }) => <Plan room={makeRoom} scope={scope} />}</Shown>
    </div>
  );
}

function Plan({ room, scope }: { room: Room; scope: string }) {
  if (room.possible !== true)
    return (
      <p>
        {room.possible === null
          ? "No plan was found, and none is ruled out."
          : "No moves make room for it: even with every job elsewhere there is none."}
        {room.closed.length > 0 && ` Open, these servers would help: ${room.closed.join(", ")}.`}
      </p>
    );
  return (
    <>
      <h3>
        {room.moves.length
          ? `${counted(room.moves.length, "move")} of ${counted(room.movedChips, "chip")}`
          : "No move is needed"}
        {room.exact && ", no plan has fewer"}
      </h3>
      <Steps moves={room.moves} scope={scope} />
      <p>
        Then {room.wanted} are free: <strong>{short(scope, room.places)}</strong>
      </p>
    </>
  );
}

function Steps({ moves, scope }: { moves: Moved[]; scope: string }) {
  return (
    <ol class="steps">
      {moves.map((move) => (
        <li key={move.job}>
          <a href={href("jobs", "", { sel: move.job })}>{move.job}</a>{" "}
          <span class="quiet">{counted(move.chips, "chip")}</span> {short(scope, move.source)} →{" "}
          <strong>{short(scope, move.to)}</strong>
          {move.stops && <span class="less">stops first</span>}
        </li>
      ))}
    </ol>
  );
}

export function Draining({ scope, drain }: { scope: string; drain: string }) {
  const plan = useAsked(drain ? asking(DRAIN, { of: drain }) : null);
  const ask = (event: SubmitEvent) => {
    event.preventDefault();
    change({
      drain:
        String(new FormData(event.target as HTMLFormElement).get("drain"))
          .trim()
          .toLowerCase() || undefined,
    });
  };
  return (
    <section class="card flush" aria-labelledby="drain">
      <h2 id="drain">What if a place is drained?</h2>
      <form class="inner fit" onSubmit={ask}>
        <label>
          <span class="unseen">Place</span>
          <input
            name="drain"
            key={drain}
            defaultValue={drain}
            placeholder={`${scope}/d0/s0`}
            required
            spellcheck={false}
          />
        </label>
        <button type="submit">Plan</button>
      </form>
      {drain && <Shown of={plan}>{({ drainImpact }) => <Impact plan={drainImpact} scope={scope} />}</Shown>}
    </section>
  );
}

const WAYS: Record<Drain["jobs"][number]["way"], string> = {
  REPLACED: "what it loses is replaced, the rest stays",
  STAYS: "loses spares only, and stays",
  ELSEWHERE: "goes elsewhere as a whole",
  AFTER_MOVES: "goes elsewhere once other jobs have moved",
  NOWHERE: "has nowhere to go",
};

function Impact({ plan, scope }: { plan: Drain; scope: string }) {
  return (
    <div class="inner">
      <p>
        {counted(plan.chips, "chip")} go;{" "}
        {plan.touched ? `${counted(plan.touched, "job")} touched, ${number(plan.stopped)} stop` : "no job is touched"}.
      </p>
      <ol class="steps">
        {plan.jobs.map((job) => (
          <li key={job.job}>
            <a href={href("jobs", "", { sel: job.job })}>{job.job}</a>{" "}
            <span class="quiet">
              loses {number(job.loses)} of {counted(job.chips, "chip")}
            </span>{" "}
            <span class={job.way === "NOWHERE" ? "less" : ""}>{WAYS[job.way]}</span>
            <Steps moves={job.moves} scope={scope} />
            {job.to.length > 0 && (
              <p>
                → <strong>{short(scope, job.to)}</strong>
                {job.allGatherThen && (
                  <span class="quiet">
                    {" "}
                    all-gather <Change before={gigabytes(job.allGather)} now={gigabytes(job.allGatherThen)} />
                  </span>
                )}
              </p>
            )}
          </li>
        ))}
      </ol>
      <dl class="figures">
        <div>
          <dt>Largest free block, chips</dt>
          <dd>
            <Change before={number(plan.largest)} now={number(plan.largestThen)} />
          </dd>
        </div>
        {plan.sizes
          .filter(({ jobs, jobsThen }) => jobs !== jobsThen)
          .map(({ chips, jobs, jobsThen }) => (
            <div key={chips}>
              <dt>Jobs of {counted(chips, "chip")} at once</dt>
              <dd>
                <Change before={number(jobs)} now={number(jobsThen)} />
              </dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
