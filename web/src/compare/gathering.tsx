// C on a page adds what it is about to what is compared.
import { tell } from "../change/said";
import { gather, MOST } from "./collect";

export function add(place: string): void {
  const { full, count, to } = gather(place);
  tell({
    says: (
      <>
        {full ? `${place} is one too many: ${MOST} are compared at most.` : `${place}: ${count} of ${MOST} to compare.`}{" "}
        <a href={to}>Compare</a>
      </>
    ),
  });
}
