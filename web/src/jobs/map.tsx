// A domain with the letter of the job in every chip that one holds; what is proposed is ringed.
import { useMemo } from "preact/hooks";
import { makeQuery, type Result, useQuery } from "../api";
import { useNarrow } from "../domain/wiring";
import { letterOf } from "../drawing/letter";
import { fixed, Sign } from "../drawing/marks";
import { Loading } from "../parts";
import { href } from "../route";
import { StateLabel, stateWord } from "../state";
import { number, pluralize } from "../words";
import { MAP } from "./documents";

type Drawn = Result<typeof MAP>;

const WITHOUT_JOB = { allocated: "allocated", free: "free", unusable: "unusable" };

export const isWithin = (address: string, places: string[]) =>
  places.some((place) => address === place || address.startsWith(`${place}/`));

/** What is drawn of a domain, and the jobs in it, those with most chips first: the order of their letters. */
export function useMap(domain: string | undefined) {
  const narrow = useNarrow();
  const drawn = useQuery(domain ? makeQuery(MAP, { domain, narrow }) : null);
  const counts = useMemo(() => countsOf(drawn.data), [drawn.data]);
  return { drawn, counts };
}

type Counts = Map<string, number>;

function countsOf(drawn: Drawn | undefined): Counts {
  const counts: Counts = new Map();
  for (const { job } of drawn?.chips.nodes ?? []) if (job) counts.set(job, (counts.get(job) ?? 0) + 1);
  return new Map([...counts].sort((a, b) => b[1] - a[1]));
}

interface MapProps {
  domain: string;
  map: ReturnType<typeof useMap>;
  proposed: string[];
  sel: string;
}

export function JobMap({ domain, map: { drawn, counts }, proposed, sel }: MapProps) {
  return (
    <section class="card" aria-label={`Jobs in ${domain}`}>
      <h2>
        <a href={href("domain", domain)}>{domain}</a>
      </h2>
      <Loading result={drawn}>
        {(data) => <Drawing domain={domain} drawn={data} counts={counts} proposed={proposed} sel={sel} />}
      </Loading>
    </section>
  );
}

interface Props {
  domain: string;
  drawn: Drawn;
  counts: Counts;
  proposed: string[];
  sel: string;
}

function Drawing({ domain, drawn: { layout, chips }, counts, proposed, sel }: Props) {
  const jobs = [...counts.keys()];
  const byAddress = new Map(chips.nodes.map((chip) => [chip.address, chip]));
  const free = chips.nodes.filter(({ use }) => use === "free").length;
  const unusable = chips.nodes.filter(({ use }) => use === "unusable").length;
  const states = ["down", "degraded", "maintenance"].filter((state) =>
    chips.nodes.some((chip) => chip.state === state),
  );
  const { box, font } = layout;
  return (
    <>
      <svg
        class="wiring job-map"
        viewBox={[box.x, box.y, box.width, box.height].map(fixed).join(" ")}
        style={`--letter: ${font}px; --least: 240px; --wide: 0px; --most: ${Math.max(240, box.width * 1.2)}px`}
        role="img"
        aria-label={`${domain}: ${jobs.map((job, index) => `${letterOf(index).text} ${job}: ${pluralize(counts.get(job) ?? 0, "chip")}`).join(", ") || "no jobs"}; ${pluralize(free, "free chip")}`}
      >
        {layout.panels.map((panel) => (
          <rect key={`${panel.x} ${panel.y}`} class="panel" {...panel} rx="10" />
        ))}
        <g class="faint">
          {layout.routes.flatMap(({ address, strokes }) =>
            strokes.map((stroke, index) => (
              <polyline key={`${address} ${index}`} points={stroke.map(fixed).join(" ")} />
            )),
          )}
        </g>
        {layout.labels.map((label) => (
          <text key={`${label.x} ${label.y}`} class="label" x={label.x} y={label.y} text-anchor={label.anchor}>
            {label.text}
          </text>
        ))}
        {layout.places.map((place) => {
          const chip = byAddress.get(place.address);
          if (!chip) return null;
          const index = chip.job ? jobs.indexOf(chip.job) : -1;
          const size = {
            x: fixed(place.x - place.width / 2),
            y: fixed(place.y - place.height / 2),
            width: fixed(place.width),
            height: fixed(place.height),
            rx: place.width === place.height ? place.width / 2 : 4,
          };
          const ring = { ...size, x: Number(size.x) - 5, y: Number(size.y) - 5 };
          return (
            <g
              key={place.address}
              class={index < 0 ? `unheld ${chip.state}` : `held j${index % 4}${chip.job === sel ? " chosen" : ""}`}
            >
              <title>{`${place.address}, ${chip.state}, ${chip.job ? `allocated to ${chip.job}` : WITHOUT_JOB[chip.use]}`}</title>
              <rect class="body" {...size} />
              {isWithin(place.address, proposed) && (
                <rect class="proposed" {...ring} width={place.width + 10} height={place.height + 10} rx={size.rx + 5} />
              )}
              <text x={fixed(place.x)} y={fixed(place.y + 0.35 * font)}>
                {index < 0 ? place.text : letterOf(index).text}
              </text>
              {chip.state !== "up" && (
                <Sign position={{ x: place.sign[0] ?? 0, y: place.sign[1] ?? 0 }} state={chip.state} around />
              )}
            </g>
          );
        })}
      </svg>
      <ul class="legend">
        {jobs.map((job, index) => (
          <li key={job}>
            <span class={`letter j${index % 4}`}>{letterOf(index).text}</span>{" "}
            <a href={href("jobs", "", { in: domain, sel: job })}>{job}</a> {number(counts.get(job) ?? 0)}
          </li>
        ))}
        <li>
          <span class="letter none" /> free {number(free)}
        </li>
        {unusable > 0 && <li>unusable {number(unusable)}</li>}
        {states.map((state) => (
          <li key={state}>
            <StateLabel state={state}>{stateWord(state)}</StateLabel>
          </li>
        ))}
        {proposed.length > 0 && (
          <li>
            <span class="letter dashed" /> proposed
          </li>
        )}
      </ul>
    </>
  );
}
