// What the page changes for real: chips held and release, jobs moved, servers closed and opened, each a plan of steps.
import { graphql, makeQuery, runQuery } from "../api";
import { pluralize } from "../words";
import type { Move } from "./documents";

const ALLOCATE = graphql("mutation Allocate($input: AllocateInput!) { allocate(input: $input) { job { name } } }");
const RELEASE = graphql("mutation Release($input: ReleaseInput!) { release(input: $input) { job { name } } }");
const MOVE = graphql("mutation MoveJobs($input: MoveJobsInput!) { moveJobs(input: $input) { jobs { name } } }");
const CORDON = graphql("mutation Cordon($input: CordonInput!) { cordon(input: $input) { cordons { server } } }");
const UNCORDON = graphql(
  "mutation Uncordon($input: UncordonInput!) { uncordon(input: $input) { cordons { server } } }",
);

/** What whoever confirms it says. */
export interface FormInput {
  job: string;
  why: string;
  who: string | null;
}

export interface Step {
  description: string;
  does: (input: FormInput) => Promise<unknown>;
}

export interface JobAction {
  title: string;
  asks: ("job" | "why" | "who")[];
  steps: Step[];
  /** What would be held, of which the dialog shows what that leaves. */
  allocated?: { scope: string; places: string[] };
  /** What else is to be known before it is done. */
  warns?: string | undefined;
  done: (input: FormInput) => string;
  undo?: (input: FormInput) => Promise<unknown>;
}

/** Open the dialog that does it once it is confirmed. */
export const propose = (doing: JobAction) => void import("./confirm").then((dialog) => dialog.open(doing));

const now = { at: "" };
const release = (job: string, who: string | null) =>
  runQuery({ ...makeQuery(RELEASE, { input: { job, who } }), ...now });
const uncordon = (place: string, who: string | null) =>
  runQuery({ ...makeQuery(UNCORDON, { input: { servers: [place], who } }), ...now });

function allocateStep(places: string[], chips: number): Step {
  return {
    description: `Allocate ${pluralize(chips, "chip")}`,
    does: ({ job, who }) => runQuery({ ...makeQuery(ALLOCATE, { input: { job, places, who } }), ...now }),
  };
}

function moveStep(scope: string, moves: { job: string; destination: string[] }[], revision: string): Step {
  const input = { scope, revision, moves: moves.map(({ job, destination }) => ({ job, destination })) };
  return {
    description: `Move ${pluralize(moves.length, "job")}, all or none`,
    does: ({ who }) => runQuery({ ...makeQuery(MOVE, { input: { ...input, who } }), ...now }),
  };
}

/** Hold places for a new job. */
export const toAllocate = (scope: string, places: string[], chips: number, warns?: string): JobAction => ({
  title: `Allocate ${pluralize(chips, "chip")}`,
  asks: ["job", "who"],
  steps: [allocateStep(places, chips)],
  allocated: { scope, places },
  warns,
  done: ({ job }) => `${pluralize(chips, "chip")} allocated to ${job}`,
  undo: ({ job, who }) => release(job, who),
});

/** Move whom a plan of makeRoom moves, then hold what is free. */
export const toMakeRoom = (
  scope: string,
  moves: Move[],
  places: string[],
  chips: number,
  revision: string,
): JobAction => ({
  title: `Move ${pluralize(moves.length, "job")} and allocate ${pluralize(chips, "chip")}`,
  asks: ["job", "who"],
  steps: [moveStep(scope, moves, revision), allocateStep(places, chips)],
  warns: "Undo releases the allocated chips. It does not move jobs back.",
  done: ({ job }) => `${pluralize(moves.length, "job")} moved, ${pluralize(chips, "chip")} allocated to ${job}`,
  undo: ({ job, who }) => release(job, who),
});

/** Move the jobs of a drained place. */
export const toMove = (
  scope: string,
  moves: { job: string; destination: string[] }[],
  revision: string,
): JobAction => ({
  title: `Move ${pluralize(moves.length, "job")}`,
  asks: ["who"],
  steps: [moveStep(scope, moves, revision)],
  warns: "This cannot be undone.",
  done: () => `${pluralize(moves.length, "job")} moved`,
});

export const toCordon = (place: string): JobAction => ({
  title: `Cordon ${place}`,
  asks: ["why", "who"],
  steps: [
    {
      description: "Keep new jobs off its servers. Running jobs continue.",
      does: ({ why, who }) => runQuery({ ...makeQuery(CORDON, { input: { servers: [place], why, who } }), ...now }),
    },
  ],
  done: () => `${place} is cordoned`,
  undo: ({ who }) => uncordon(place, who),
});

export const toUncordon = (place: string): JobAction => ({
  title: `Uncordon ${place}`,
  asks: ["who"],
  steps: [{ description: "Allow new jobs on its servers again.", does: ({ who }) => uncordon(place, who) }],
  done: () => `${place} is uncordoned`,
});

export const toRelease = (job: string, chips: number): JobAction => ({
  title: `Release ${job}`,
  asks: ["who"],
  steps: [{ description: `End the job and free ${pluralize(chips, "chip")}`, does: ({ who }) => release(job, who) }],
  warns: "This cannot be undone. To get the chips back, allocate them again.",
  done: () => `${job} is released`,
});
