// Findings of drift that no incident shows, because their parts are up until `trninv drift --apply` sets them down.
import { href } from "../route";
import { pluralize } from "../words";

const findings = (condition = "") => `SELECT severity, rule, address, instance, expected, observed, first_seen
FROM v_drift
WHERE cleared_at IS NULL${condition}
ORDER BY CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, first_seen, address`;

/** Every finding of drift that has not cleared. */
export const OPEN_FINDINGS = findings();

/** Those that are counted, at or below a place or of all. */
const unapplied = (scope: string) =>
  findings(`
  AND severity = 'high'
  AND address NOT IN (SELECT address FROM v_unhealthy)${scope && `\n  AND address || '/' LIKE '${scope}/%'`}`);

/** Whether a query is one that a page links to. */
export const isUnapplied = (text: string) => text === unapplied(/LIKE '([^']*)\/%'/.exec(text)?.[1] ?? "");

interface Props {
  count: number;
  /** The place; empty: all. */
  scope?: string;
}

export function Unapplied({ count, scope = "" }: Props) {
  if (!count) return null;
  return (
    <span class="warned">
      <a href={href("query", "", { text: unapplied(scope) })}>{pluralize(count, "high finding")} of drift</a> on parts
      that are up
    </span>
  );
}
