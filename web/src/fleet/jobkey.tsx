// On a phone, the names of jobs above the picture that has their letters.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useNarrow } from "../domain/wiring";
import { LetterBadge, letterOf } from "../drawing/letter";
import { number } from "../words";

interface NamedJob {
  name: string;
  ordinal: number;
}

/** The most jobs that two rows have space for. */
const MOST = 16;
/** Two rows, and the space between them. */
const HIGH = 56;

/** As many of the first jobs as two rows have space for, in the order of their letters, and how many others there are. */
export function JobKey({ jobs, all }: { jobs: NamedJob[]; all: number }) {
  const box = useRef<HTMLUListElement>(null);
  const [most, setMost] = useState(MOST);
  const isNarrow = useNarrow();
  useEffect(() => setMost(MOST), [jobs]);
  useLayoutEffect(() => {
    if (box.current && box.current.offsetHeight > HIGH) setMost(Math.min(most, jobs.length) - 1);
  });
  if (!isNarrow || !jobs.length) return null;
  const shown = jobs.slice(0, most).sort((a, b) => a.ordinal - b.ordinal);
  return (
    <ul class="job-key" ref={box} aria-label="Letters of jobs">
      {shown.map(({ name, ordinal }) => (
        <li key={ordinal}>
          <LetterBadge letter={letterOf(ordinal)} /> <span>{name}</span>
        </li>
      ))}
      {all > shown.length && <li class="quiet">and {number(all - shown.length)} more</li>}
    </ul>
  );
}
