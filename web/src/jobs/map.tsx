// A domain in which each allocated chip has the letters of its job; a proposed placement is ringed.
import { useEffect, useState } from "preact/hooks";
import { type Letter, letterOf } from "../drawing/letter";
import { Picture } from "../picture";
import { href } from "../route";

const isWithin = (address: string, places: string[]) =>
  places.some((place) => address === place || address.startsWith(`${place}/`));

interface Props {
  domain: string;
  proposed: string[];
  sel: string;
  /** Called with the letters of the picture's jobs. */
  setLetters: (letters: Map<string, Letter>) => void;
}

export function JobMap({ domain, proposed, sel, setLetters }: Props) {
  const [svg, setSvg] = useState<SVGSVGElement>();
  useEffect(() => {
    const jobs = [...(svg?.querySelectorAll<SVGElement>(".job") ?? [])].map(({ dataset }) => dataset.job ?? "");
    setLetters(new Map(jobs.map((job, index) => [job, letterOf(index)])));
  }, [svg]);
  useEffect(() => {
    for (const chip of svg?.querySelectorAll<SVGElement>("[data-address]") ?? []) {
      chip.classList.toggle("proposed", isWithin(chip.dataset.address ?? "", proposed));
      chip.classList.toggle("chosen", Boolean(sel) && chip.dataset.job === sel);
    }
  }, [svg, proposed, sel]);
  return (
    <section class="card" aria-label={`Jobs in ${domain}`}>
      <h2>
        <a href={href("domain", domain)}>{domain}</a>
      </h2>
      <Picture name="jobs" options={{ scope: domain }} onDrawn={setSvg} />
      {proposed.length > 0 && <p class="quiet">Dashed rings: the proposed placement.</p>}
    </section>
  );
}
