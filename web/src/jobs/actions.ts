// Changes that the Jobs page makes: allocate, release and move jobs, cordon and uncordon servers. Each is a plan of steps.
import { graphql, makeQuery, runQuery } from "../api";
import type { Field, FormInput } from "../change/confirmation";
import { pluralize } from "../words";
import type { Move } from "./documents";

const ALLOCATE = graphql("mutation Allocate($input: AllocateInput!) { allocate(input: $input) { job { name } } }");
const RELEASE = graphql("mutation Release($input: ReleaseInput!) { release(input: $input) { job { name } } }");
const MOVE = graphql("mutation MoveJobs($input: MoveJobsInput!) { moveJobs(input: $input) { jobs { name } } }");
const CORDON = graphql("mutation Cordon($input: CordonInput!) { cordon(input: $input) { cordons { server } } }");
const UNCORDON = graphql(
  "mutation Uncordon($input: UncordonInput!) { uncordon(input: $input) { cordons { server } } }",
);

export interface Step {
  description: string;
  does: (input: FormInput) => Promise<unknown>;
}

export interface JobAction {
  title: string;
  asks: Field[];
  steps: Step[];
  /** Places to allocate; the dialog previews the free capacity that remains. */
  allocated?: { scope: string; places: string[] };
  /** A warning to show before the plan runs. */
  warns?: string | undefined;
  done: (input: FormInput) => string;
  undo?: (input: FormInput) => Promise<unknown>;
}

/** Open the dialog; the plan runs once the user confirms. */
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

/** Allocate places to a new job. */
export const toAllocate = (scope: string, places: string[], chips: number, warns?: string): JobAction => ({
  title: `Allocate ${pluralize(chips, "chip")}`,
  asks: ["job", "who"],
  steps: [allocateStep(places, chips)],
  allocated: { scope, places },
  warns,
  done: ({ job }) => `${pluralize(chips, "chip")} allocated to ${job}`,
  undo: ({ job, who }) => release(job, who),
});

/** Carry out the moves of a makeRoom plan, then allocate what they freed. */
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

/** Move the jobs off a place that is being drained. */
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
