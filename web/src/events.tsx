// An event in a few words: a change of a part's state, or of a job or cordon.
import { Glyph } from "./state";

interface EventText {
  before: string | null;
  after: string | null;
  action: string | null;
  job: string | null;
  movedFrom: boolean | null;
}

const ACTIONS: Record<string, (job: string | null, movedFrom: boolean | null) => string> = {
  allocate: (job) => `job ${job} started`,
  move: (job, movedFrom) => `job ${job} moved ${movedFrom ? "away" : "here"}`,
  release: (job) => `job ${job} ended`,
  cordon: () => "cordoned",
  uncordon: () => "uncordoned",
  reserve: () => "reserved",
  unreserve: () => "no longer reserved",
};

export const describeEvent = ({ before, after, action, job, movedFrom }: EventText): string =>
  action ? (ACTIONS[action]?.(job, movedFrom) ?? action) : `${before} → ${after}`;

/** The glyph of the state after the event; a square for jobs. */
export function EventGlyph({ event: { after } }: { event: EventText }) {
  if (after) return <Glyph state={after} />;
  return (
    <svg class="glyph" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="4" y="4" width="8" height="8" />
    </svg>
  );
}
