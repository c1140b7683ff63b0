// Whose jobs an unhealthy part hits, in one sentence.
import { JobLinks } from "../parts";
import { number } from "../words";

interface Props {
  jobs: readonly string[];
  /** Jobs beside those that are named. */
  more?: number;
}

export const Hits = ({ jobs, more = 0 }: Props) => (
  <span>
    <b>Hits</b> <JobLinks jobs={jobs} none="no job" />
    {more > 0 && ` and ${number(more)} more`}
  </span>
);
