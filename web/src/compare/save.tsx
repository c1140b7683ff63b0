// The comparison as CSV: a row a metric, a column a place; what is not loaded is empty.
import { saveFile } from "../drawing/save";
import { csv } from "../table/rows";
import type { Cells } from "./cells";
import { GROUPS } from "./metrics";

export function SaveCsv({ places, cells }: { places: string[]; cells: Cells }) {
  const save = () => {
    const rows = GROUPS.flatMap(([group, , metrics]) =>
      metrics.map((metric) => [
        group,
        metric.name,
        metric.unit,
        ...places.map((_, place) => {
          const cell = cells.get(metric, place);
          return cell?.is === "known" ? (cell.reading.value ?? null) : null;
        }),
      ]),
    );
    saveFile("compare.csv", csv({ columns: ["group", "metric", "unit", ...places], rows }), "text/csv");
  };
  return (
    <button type="button" class="roomy" onClick={save}>
      Download CSV
    </button>
  );
}
