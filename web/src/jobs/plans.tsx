// Plans, step by step: moves that make room, and the effect of a drain.
import { useState } from "preact/hooks";
import { makeQuery, useQuery } from "../api";
import { useCanWrite } from "../change/proposal";
import { Change, Loading } from "../parts";
import { change, href } from "../route";
import { gigabytes, number, pluralize } from "../words";
import { propose, toAllocate, toCordon, toMakeRoom, toMove, toUncordon } from "./actions";
import {
  amounts,
  DRAIN_IMPACT,
  type DrainImpactAnswer,
  type JobSize,
  MAKE_ROOM,
  type MakeRoomAnswer,
  type Move,
} from "./documents";
import { useInView } from "./inview";
import { Reserved, shortPlaces } from "./placements";

export function MakeRoom({ scope, want }: { scope: string; want: JobSize }) {
  const [open, opened] = useState(false);
  const room = useQuery(open ? makeQuery(MAKE_ROOM, { scope, ...amounts(want) }) : null);
  return (
    <div class="inner">
      <button type="button" onClick={() => opened(true)} disabled={open}>
        Make room…
      </button>
      <Loading result={room}>{({ makeRoom }) => <Plan room={makeRoom} scope={scope} />}</Loading>
    </div>
  );
}

function Plan({ room, scope }: { room: MakeRoomAnswer; scope: string }) {
  const may = useCanWrite();
  if (room.possible !== true)
    return (
      <>
        <p>
          {room.possible === null
            ? "No plan was found, but one may exist."
            : "Moving jobs cannot make room for this request."}
          {room.cordonedServers.length > 0 &&
            ` Uncordoning these servers would help: ${room.cordonedServers.join(", ")}.`}
        </p>
        <Reserved reservations={room.reservations} />
      </>
    );
  return (
    <>
      <h3>
        {room.moves.length
          ? `${pluralize(room.moves.length, "move")} of ${pluralize(room.movedChips, "chip")}`
          : "No moves needed"}
        {room.exact && ", the fewest possible"}
      </h3>
      <Steps moves={room.moves} scope={scope} />
      <p>
        This frees {room.request}: <strong>{shortPlaces(scope, room.places)}</strong>
      </p>
      <Obstacle moves={room.moves} />
      {may && !findObstacle(room.moves) && (
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
          {room.moves.length ? "Move and allocate…" : `Allocate ${pluralize(room.chips, "chip")}…`}
        </button>
      )}
    </>
  );
}

function Steps({ moves, scope }: { moves: Move[]; scope: string }) {
  return (
    <ol class="steps">
      {moves.map((move) => (
        <li key={move.job}>
          <a href={href("jobs", "", { sel: move.job })}>{move.job}</a>{" "}
          <span class="quiet">{pluralize(move.chips, "chip")}</span> {shortPlaces(scope, move.source)} →{" "}
          <strong>{shortPlaces(scope, move.destination)}</strong>
          {move.mustStop && <span class="less">must stop first</span>}
        </li>
      ))}
    </ol>
  );
}

/** Why the moves of a plan can't be carried out yet. */
const findObstacle = (moves: Move[]) => moves.find(({ obstacle }) => obstacle)?.obstacle;

function Obstacle({ moves }: { moves: Move[] }) {
  const obstacle = findObstacle(moves);
  return obstacle ? <p>Jobs move all or none: {obstacle}.</p> : null;
}

export function DrainImpact({ scope, drain }: { scope: string; drain: string }) {
  const cordonable = !drain.includes("--") && /(^@[^/]+|\/[srd]\d+)$/.test(drain);
  const impact = useQuery(drain ? makeQuery(DRAIN_IMPACT, { scope: drain, cordonable }) : null);
  const box = useInView(Boolean(impact.data || impact.error), drain);
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
    <section class="card flush" aria-labelledby="drain" ref={box}>
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
      {drain && <Loading result={impact}>{(plan) => <Impact plan={plan} scope={scope} />}</Loading>}
    </section>
  );
}

const WAYS: Record<DrainImpactAnswer["drainImpact"]["jobs"][number]["outcome"], string> = {
  REPLACED: "lost chips are replaced, the rest stays",
  STAYS: "loses only spares and stays",
  ELSEWHERE: "moves elsewhere as a whole",
  AFTER_MOVES: "moves elsewhere after other jobs have moved",
  NOWHERE: "has nowhere to go",
};

/** Carry out a drain: cordon its servers, then move the jobs. */
function DrainButtons({ plan: { drainImpact: plan, free }, scope }: { plan: DrainImpactAnswer; scope: string }) {
  const { moves } = plan;
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
      {moves.length > 0 && !findObstacle(moves) && (
        <button
          type="button"
          class={!free || isCordoned ? "main" : undefined}
          data-writes
          aria-haspopup="dialog"
          onClick={() => propose(toMove(scope, moves, plan.revision))}
        >
          {free && "2. "}Move {pluralize(moves.length, "job")}…
        </button>
      )}
    </div>
  );
}

function Impact({ plan: whole, scope }: { plan: DrainImpactAnswer; scope: string }) {
  const may = useCanWrite();
  const plan = whole.drainImpact;
  return (
    <div class="inner">
      <p>
        Removes {pluralize(plan.chips, "working chip")}
        {plan.failedChips > 0 && ` (${number(plan.failedChips)} already out of service)`}:{" "}
        {plan.disrupted
          ? `${pluralize(plan.disrupted, "job")} disrupted, ${number(plan.stopped)} stopped`
          : "no jobs disrupted"}
        .
      </p>
      <ol class="steps">
        {plan.jobs.map((job) => (
          <li key={job.job}>
            <a href={href("jobs", "", { sel: job.job })}>{job.job}</a>{" "}
            <span class="quiet">
              loses {number(job.lostChips)} of {pluralize(job.chips, "chip")}
            </span>{" "}
            <span class={job.outcome === "NOWHERE" ? "less" : ""}>{WAYS[job.outcome]}</span>
            {job.destination.length > 0 && (
              <p>
                → <strong>{shortPlaces(scope, job.destination)}</strong>
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
      <Reserved reservations={plan.reservations} />
      {plan.jobs.some(({ moves }) => moves.length > 0) && (
        <>
          <h3>Moves, in order</h3>
          <Steps moves={plan.moves} scope={scope} />
        </>
      )}
      {plan.unplanned > 0 && (
        <p>Not in this plan: {pluralize(plan.unplanned, "more job")}. Plan again once the others have moved.</p>
      )}
      <Obstacle moves={plan.moves} />
      {may && <DrainButtons plan={whole} scope={scope} />}
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
              <dt>Concurrent jobs of {pluralize(chips, "chip")}</dt>
              <dd>
                <Change before={number(jobs)} now={number(jobsAfter)} />
              </dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
