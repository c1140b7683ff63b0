// The links of a chip in a table: what each carries, and why it carries less than it could.
import { useState } from "preact/hooks";
import { Change } from "../parts";
import { href } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { Glyph, stateWord } from "../state";
import { gigabytes, number, pluralize, relativeTo } from "../words";
import type { ChipPart } from "./documents";

export type ChipLink = ChipPart["links"]["nodes"][number];

/** Links to NICs carry what NICs send, which counts as bandwidth of EFA, not of the chip, as in incidents. */
export const neuronLinks = (links: ChipLink[]) => links.filter(({ scope }) => scope !== "HOST");
export const carries = (links: ChipLink[]) =>
  links.reduce((sum, { bandwidth }) => sum + bandwidth.gigabytesPerSecond, 0);
export const nominal = (links: ChipLink[]) => links.reduce((sum, { nominal }) => sum + nominal.gigabytesPerSecond, 0);

const COLUMNS: Column[] = [["To"], ["State"], ["One direction", "number"]];

export function Links({ chip, domain }: { chip: ChipPart; domain: string }) {
  const links = chip.links.nodes;
  const idle = links.filter(isIdle);
  const causes = new Map<string, ChipLink[]>();
  for (const link of idle) {
    const cause = whyIdle(link, domain, chip.address);
    causes.set(cause, [...(causes.get(cause) ?? []), link]);
  }
  const groups = [...causes].filter(([, links]) => links.length > 1);
  const single = links.filter((link) => !groups.some(([, links]) => links.includes(link)));
  return (
    <section class="card flush" aria-label="Links">
      <h2>
        {pluralize(links.length, "link")}
        <span class="quiet">
          {idle.length ? `${idle.length === links.length ? "all" : number(idle.length)} idle, ` : ""}
          {`NeuronLinks ${number(carries(neuronLinks(links)))} GB/s in all`}
        </span>
      </h2>
      <SimpleTable name="Links of this chip" columns={COLUMNS}>
        {groups.map(([cause, links]) => (
          <IdleLinks key={cause} cause={cause} links={links} chip={chip} domain={domain} />
        ))}
        {single.map((link) => (
          <LinkRow key={link.address} link={link} chip={chip} domain={domain} />
        ))}
      </SimpleTable>
    </section>
  );
}

interface IdleLinksProps {
  cause: string;
  links: ChipLink[];
  chip: ChipPart;
  domain: string;
}

/** Links that are idle for one cause, in one row that opens. */
function IdleLinks({ cause, links, chip, domain }: IdleLinksProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <tr>
        <th scope="row">
          <button type="button" class="plain opens" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {pluralize(links.length, "idle link")}
          </button>
        </th>
        <td>
          <IdleSign /> {cause}
        </td>
        <td class="number">
          <Change now="0 GB/s" before={number(nominal(links))} />
        </td>
      </tr>
      {isOpen && links.map((link) => <LinkRow key={link.address} link={link} chip={chip} domain={domain} />)}
    </>
  );
}

/** The part at the other end of a link. */
export const peerOf = ({ a, b }: ChipLink, chip: string) => (a.address === chip ? b : a).address;

function LinkRow({ link, chip, domain }: { link: ChipLink; chip: ChipPart; domain: string }) {
  const peer = peerOf(link, chip.address);
  return (
    <tr>
      <th scope="row">
        <a href={href("at", peer)}>{relativeTo(domain, peer)}</a>
        <small>
          {link.technology}
          {link.cables > 1 && `, ${pluralize(link.cables, "cable")}`}
        </small>
      </th>
      <td>
        <a href={href("at", link.address)} class="state-link">
          {isIdle(link) ? <IdleSign /> : <Glyph state={isReduced(link) ? "degraded" : link.state} />}{" "}
          {isIdle(link)
            ? "idle"
            : [
                (!isReduced(link) || link.state !== "up") && stateWord(link.state),
                isReduced(link) && `at ${share(link)} %`,
              ]
                .filter(Boolean)
                .join(", ")}
        </a>
        {isIdle(link) && <small>{whyIdle(link, domain, chip.address)}</small>}
        {!isIdle(link) && isReduced(link) && <small>{whyReduced(link, chip.server.address)}</small>}
      </td>
      <td class="number">
        <Change
          now={gigabytes(link.bandwidth)}
          before={isReduced(link) ? number(link.nominal.gigabytesPerSecond) : undefined}
        />
      </td>
    </tr>
  );
}

export const isIdle = ({ bandwidth }: ChipLink) => bandwidth.gigabytesPerSecond === 0;

/** The sign of an idle link in the picture, as a cross means down. */
export const IdleSign = () => <span class="swatch line idle" />;

export const isReduced = ({ bandwidth, nominal }: ChipLink) =>
  bandwidth.gigabytesPerSecond < nominal.gigabytesPerSecond;
const share = ({ bandwidth, nominal }: ChipLink) =>
  number((100 * bandwidth.gigabytesPerSecond) / nominal.gigabytesPerSecond);

/** Whose fault it is that a link carries less than it could, if not its own: c1 is degraded. */
const whyReduced = ({ a, b }: ChipLink, server: string) =>
  [a, b]
    .filter((end) => "state" in end && end.state === "degraded")
    .map(({ address }) => `${relativeTo(server, address)} is degraded`)
    .join(", ");

/** Whose fault it is that a link carries nothing: s0/c3 is down. */
function whyIdle({ state, a, b }: ChipLink, domain: string, own: string): string {
  if (state === "down" || state === "maintenance") return `it is ${stateWord(state)}`;
  const off = [a, b].filter((end) => "state" in end && (end.state === "down" || end.state === "maintenance"));
  const cause = off.filter(({ address }) => off.length === 1 || address === own);
  const names = cause.map(
    (end) => `${relativeTo(domain, end.address)} is ${"state" in end ? stateWord(end.state) : ""}`,
  );
  return names.join(", ") || "an end is not up";
}
