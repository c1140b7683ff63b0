// An event in a few words: what became of a part, or what was done to a job or for jobs' sake.
import { Glyph } from "./state";

interface Happened {
  before: string | null;
  after: string | null;
  action: string | null;
  job: string | null;
}

const DONE: Record<string, (job: string | null) => string> = {
  allocate: (job) => `job ${job} began`,
  move: (job) => `job ${job} moved`,
  release: (job) => `job ${job} ended`,
  cordon: () => "closed to new jobs",
  uncordon: () => "open to new jobs again",
};

export const became = ({ before, after, action, job }: Happened): string =>
  action ? (DONE[action]?.(job) ?? action) : `${before} → ${after}`;

/** The state that something has now; of a job a square. */
export function Became({ event: { after } }: { event: Happened }) {
  if (after) return <Glyph state={after} />;
  return (
    <svg class="glyph" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="4" y="4" width="8" height="8" />
    </svg>
  );
}
