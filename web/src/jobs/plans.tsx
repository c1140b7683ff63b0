// Plans, step by step: whom to move so that there is room, and what taking a place out of service does.
import { useState } from "preact/hooks";
import { asking, useAsked } from "../api";
import { mayChange } from "../change/asked";
import { Change, Shown } from "../parts";
import { change, href } from "../route";
import { counted, gigabytes, number } from "../words";
import { amounts, DRAIN, type Drain, type Moved, ROOM, type Room, type Want } from "./documents";
import { propose, toAllocate, toCordon, toMakeRoom, toMove, toUncordon } from "./doing";
import { short } from "./fits";

export function MakeRoom({ scope, want }: { scope: string; want: Want }) {
  const [open, opened] = useState(false);
  const room = useAsked(open ? asking(ROOM, { scope, ...amounts(want) }) : null);
  return (
    <div class="inner">
      <button type="button" onClick={() => opened(true)} disabled={open}>
        Make room…
      </button>
      <Shown result={room}>{({ makeRoom }) => <Plan room={makeRoom} scope={scope} />}</Shown>
    </div>
  );
}

function Plan({ room, scope }: { room: Room; scope: string }) {
  const may = mayChange();
  if (room.possible !== true)
    return (
      <p>
        {room.possible === null
          ? "No plan was found, but one may exist."
          : "Moving jobs cannot make room for this request."}
        {room.cordonedServers.length > 0 &&
          ` Uncordoning these servers would help: ${room.cordonedServers.join(", ")}.`}
      </p>
    );
  return (
    <>
      <h3>
        {room.moves.length
          ? `${counted(room.moves.length, "move")} of ${counted(room.movedChips, "chip")}`
          : "No moves needed"}
        {room.exact && ", the fewest possible"}
      </h3>
      <Steps moves={room.moves} scope={scope} />
      <p>
        This frees {room.request}: <strong>{short(scope, room.places)}</strong>
      </p>
      {may && (
        <button
          type="button"
          class="main"
          data-writes
          aria-haspopup="dialog"
          onClick={() =>
            propose(
              room.moves.length
                ? toMakeRoom(scope, room.moves, room.places, room.chips, room.revision)
                : toAllocate(scope, room.places, room.chips),
            )
          }
        >
          {room.moves.length ? "Move and allocate…" : `Allocate ${counted(room.chips, "chip")}…`}
        </button>
      )}
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
          <strong>{short(scope, move.destination)}</strong>
          {move.mustStop && <span class="less">must stop first</span>}
        </li>
      ))}
    </ol>
  );
}

export function Draining({ scope, drain }: { scope: string; drain: string }) {
  const cordonable = !drain.includes("--") && /(^@[^/]+|\/[srd]\d+)$/.test(drain);
  const impact = useAsked(drain ? asking(DRAIN, { place: drain, cordonable }) : null);
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
      <h2 id="drain">Drain impact</h2>
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
      {drain && <Shown result={impact}>{(plan) => <Impact plan={plan} scope={scope} />}</Shown>}
    </section>
  );
}

const WAYS: Record<Drain["drainImpact"]["jobs"][number]["outcome"], string> = {
  REPLACED: "lost chips are replaced, the rest stays",
  STAYS: "loses only spares and stays",
  ELSEWHERE: "moves elsewhere as a whole",
  AFTER_MOVES: "moves elsewhere after other jobs have moved",
  NOWHERE: "has nowhere to go",
};

/** What is carried out of a drain: its servers take no new jobs, then what runs there moves, in order, each job once. */
function Carrying({ plan: { drainImpact: plan, free }, scope }: { plan: Drain; scope: string }) {
  const last = new Map<string, string[]>();
  for (const { job, outcome, destination, moves } of plan.jobs) {
    for (const move of moves) last.set(move.job, move.destination);
    if (destination.length && outcome !== "STAYS") last.set(job, destination);
  }
  const moves = [...last].map(([job, destination]) => ({ job, destination }));
  const isCordoned = Boolean(free && free.cordoned + free.allocatedOnCordoned > 0);
  return (
    <div class="fit">
      {free && (
        <button
          type="button"
          class={isCordoned ? undefined : "main"}
          data-writes
          aria-haspopup="dialog"
          onClick={() => propose(isCordoned ? toUncordon(plan.scope) : toCordon(plan.scope))}
        >
          {isCordoned ? "Uncordon…" : "1. Cordon…"}
        </button>
      )}
      {moves.length > 0 && (
        <button
          type="button"
          class={!free || isCordoned ? "main" : undefined}
          data-writes
          aria-haspopup="dialog"
          onClick={() => propose(toMove(scope, moves, plan.revision))}
        >
          {free && "2. "}Move {counted(moves.length, "job")}…
        </button>
      )}
    </div>
  );
}

function Impact({ plan: whole, scope }: { plan: Drain; scope: string }) {
  const may = mayChange();
  const plan = whole.drainImpact;
  return (
    <div class="inner">
      <p>
        Removes {counted(plan.chips, "chip")}:{" "}
        {plan.disrupted
          ? `${counted(plan.disrupted, "job")} disrupted, ${number(plan.stopped)} stopped`
          : "no jobs disrupted"}
        .
      </p>
      <ol class="steps">
        {plan.jobs.map((job) => (
          <li key={job.job}>
            <a href={href("jobs", "", { sel: job.job })}>{job.job}</a>{" "}
            <span class="quiet">
              loses {number(job.lostChips)} of {counted(job.chips, "chip")}
            </span>{" "}
            <span class={job.outcome === "NOWHERE" ? "less" : ""}>{WAYS[job.outcome]}</span>
            <Steps moves={job.moves} scope={scope} />
            {job.destination.length > 0 && (
              <p>
                → <strong>{short(scope, job.destination)}</strong>
                {job.allGatherAfter && (
                  <span class="quiet">
                    {" "}
                    all-gather <Change before={gigabytes(job.allGather)} now={gigabytes(job.allGatherAfter)} />
                  </span>
                )}
              </p>
            )}
          </li>
        ))}
      </ol>
      {may && <Carrying plan={whole} scope={scope} />}
      <dl class="figures">
        <div>
          <dt>Largest free block, chips</dt>
          <dd>
            <Change before={number(plan.largestBlock)} now={number(plan.largestBlockAfter)} />
          </dd>
        </div>
        {plan.sizes
          .filter(({ jobs, jobsAfter }) => jobs !== jobsAfter)
          .map(({ chips, jobs, jobsAfter }) => (
            <div key={chips}>
              <dt>Concurrent jobs of {counted(chips, "chip")}</dt>
              <dd>
                <Change before={number(jobs)} now={number(jobsAfter)} />
              </dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
