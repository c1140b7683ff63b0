// Key C adds the page's subject to Compare.
import { showToast } from "../change/toast";
import { addPlace, MOST } from "./collection";

export function add(place: string): void {
  const { full, count, to } = addPlace(place);
  showToast({
    message: (
      <>
        {full
          ? `${place} was not added: you can compare at most ${MOST} places.`
          : `${place} added, ${count} of ${MOST} to compare.`}{" "}
        <a href={to}>Compare</a>
      </>
    ),
  });
}
