// An event in a few words: what became of a part, or what was done to a job or for jobs' sake.
import { Glyph } from "./state";

interface EventText {
  before: string | null;
  after: string | null;
  action: string | null;
  job: string | null;
}

const ACTIONS: Record<string, (job: string | null) => string> = {
  allocate: (job) => `job ${job} started`,
  move: (job) => `job ${job} moved`,
  release: (job) => `job ${job} ended`,
  cordon: () => "cordoned",
  uncordon: () => "uncordoned",
};

export const describeEvent = ({ before, after, action, job }: EventText): string =>
  action ? (ACTIONS[action]?.(job) ?? action) : `${before} → ${after}`;

/** The state that something has now; of a job a square. */
export function EventGlyph({ event: { after } }: { event: EventText }) {
  if (after) return <Glyph state={after} />;
  return (
    <svg class="glyph" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="4" y="4" width="8" height="8" />
    </svg>
  );
}
