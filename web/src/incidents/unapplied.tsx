// How many findings of drift no incident shows, with a link to their list.
import { href } from "../route";
import { pluralize } from "../words";

interface Props {
  count: number;
  /** The place; empty: all. */
  scope?: string;
}

export function Unapplied({ count, scope = "" }: Props) {
  if (!count) return null;
  return (
    <span class="warned">
      <a href={href("findings", scope)}>{pluralize(count, "high finding")} of drift</a> on parts that are up
    </span>
  );
}
