// Links of a path in order of travel, or of a cut; each with what it carries, also as a bar.
import { href } from "../route";
import { number, relativeTo } from "../words";
import type { PathAnswer } from "./documents";
import { factorOf, type Scenario, setFactor } from "./scenario";

export interface LinkContext {
  domain: string;
  scenario: Scenario;
  /** The widest link of the domain, for which the bar is full. */
  widest: number;
}

export interface Hop {
  address: string;
  /** In order of travel. */
  ends: [string, string];
  gigabytesPerSecond: number;
}

/** The links of a path, each from the end where the path enters it. */
export function hopsOf({ paths: [path] }: Pick<PathAnswer, "paths">): Hop[] {
  const steps = path?.steps ?? [];
  return steps.flatMap(({ kind, address, bandwidth }, index) => {
    const [source, target] = [steps[index - 1]?.address, steps[index + 1]?.address];
    if (kind !== "link" || !source || !target) return [];
    return [{ address, ends: [source, target], gigabytesPerSecond: bandwidth?.gigabytesPerSecond ?? 0 }];
  });
}

export const cutOf = (links: { address: string; bandwidth: { gigabytesPerSecond: number } }[]): Hop[] =>
  links.map(({ address, bandwidth }) => ({
    address,
    ends: address.split("--") as [string, string],
    gigabytesPerSecond: bandwidth.gigabytesPerSecond,
  }));

/** The links that carry least. */
export function narrowestOf(hops: Hop[]): Hop[] {
  const least = Math.min(...hops.map(({ gigabytesPerSecond }) => gigabytesPerSecond));
  return hops.filter(({ gigabytesPerSecond }) => gigabytesPerSecond === least);
}

interface Props {
  title: string;
  hops: Hop[];
  instances?: PathAnswer["instances"];
  taking: LinkContext;
  /** Whether the links belong to an earlier question. */
  stale: boolean;
}

export function Links({ title, hops, instances = [], taking, stale }: Props) {
  const { domain, scenario, widest } = taking;
  const named = new Map(instances.map(({ server, host, instance }) => [server, host?.split(".")[0] ?? instance]));
  const there = (end: string) => named.get(end.slice(0, end.lastIndexOf("/")));
  return (
    <section class={stale ? "card flush stale" : "card flush"} aria-label={title} aria-busy={stale}>
      <h2>{title}</h2>
      <table class="hops">
        <thead>
          <tr>
            <th>#</th>
            <th>Link{instances.length > 0 && " and instances"}</th>
            <th colSpan={2}>One direction</th>
            <th>What if</th>
          </tr>
        </thead>
        <tbody>
          {hops.map(({ address, ends, gigabytesPerSecond }, index) => {
            const gone = factorOf(scenario, address) === 0;
            const stands = [...new Set(ends.map(there))].filter(Boolean).join(" – ");
            return (
              <tr key={address}>
                <td>
                  <i>{index + 1}</i>
                </td>
                <td>
                  <a
                    href={href("domain", domain, { ...currentOptions(), sel: relativeTo(domain, address) })}
                    title="Show details"
                  >
                    {ends.map((end) => relativeTo(domain, end)).join(" – ")}
                  </a>
                  {stands && <small>{stands}</small>}
                </td>
                <td aria-hidden="true">
                  <span class="track">
                    <span style={{ width: `${(100 * gigabytesPerSecond) / widest}%` }} />
                  </span>
                </td>
                <td>{number(gigabytesPerSecond)} GB/s</td>
                <td>
                  <button
                    type="button"
                    aria-label={`${gone ? "Restore" : "Take down"} ${ends.map((end) => relativeTo(domain, end)).join(" – ")}`}
                    title={gone ? "Restore" : "Take down in this scenario"}
                    onClick={() => setFactor(domain, scenario, address, gone ? 1 : 0)}
                  >
                    {gone ? "Restore" : "Take down"}
                  </button>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** The page's current options. */
const currentOptions = () => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));
