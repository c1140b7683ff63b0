// Whose jobs an unhealthy part hits, and whose it slows down, in one sentence.
import { JobLinks } from "../parts";
import { number } from "../words";

interface Props {
  jobs: readonly string[];
  /** Jobs beside those that are named. */
  more?: number;
  slower: readonly string[];
}

/** Jobs that are named. */
const NAMED = 3;

export const Hits = ({ jobs, more = 0, slower }: Props) => (
  <span>
    <b>Hits</b> <JobLinks jobs={jobs} none="no job" />
    {more > 0 && ` and ${number(more)} more`}
    {slower.length > 0 && (
      <>
        , slows <JobLinks jobs={slower.slice(0, NAMED)} />
        {slower.length > NAMED && ` and ${number(slower.length - NAMED)} more`}
      </>
    )}
  </span>
);
