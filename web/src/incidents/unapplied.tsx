// Findings of drift that no incident shows, because their parts are up until `trninv drift --apply` sets them down.
import { href } from "../route";
import { pluralize } from "../words";

/** Every finding of drift that has not cleared. */
export const OPEN_FINDINGS = `SELECT severity, rule, address, instance, expected, observed, first_seen
FROM v_drift
WHERE cleared_at IS NULL
ORDER BY CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, first_seen, address`;

export function Unapplied({ count }: { count: number }) {
  if (!count) return null;
  return (
    <span class="warned">
      <a href={href("query", "", { text: OPEN_FINDINGS })}>{pluralize(count, "high finding")} of drift</a> on parts that
      are up
    </span>
  );
}
