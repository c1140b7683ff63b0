// A chip in the middle of its links: each neighbor with what kind it is, and what the link to it carries.
import { href } from "../route";
import { Glyph, stateWord } from "../state";
import "../style/hub.css";
import { number, relativeTo } from "../words";
import type { ChipPart } from "./documents";
import { type ChipLink, IdleSign, isIdle, isReduced, peerOf } from "./links";

/** Neighbors in a row above or below the chip; what does not fit is in the table of links. */
const ROW = 4;

export function Hub({ chip, domain }: { chip: ChipPart; domain: string }) {
  const { address, state, server } = chip;
  // what leaves the server is above
  const peers = chip.links.nodes
    .map((link) => ({ link, address: peerOf(link, address) }))
    .sort((a, b) => Number(isWithin(a.address, server.address)) - Number(isWithin(b.address, server.address)))
    .slice(0, 2 * ROW);
  const above = peers.slice(0, Math.ceil(peers.length / 2));
  const below = peers.slice(above.length);
  const classes = [...new Set(chip.links.nodes.map(({ nominal }) => nominal.gigabytesPerSecond))].sort((a, b) => b - a);
  const side = (row: typeof peers) => (
    <ul>
      {row.map((peer) => (
        <li key={peer.link.address}>
          <Peer {...peer} chip={chip} domain={domain} />
        </li>
      ))}
    </ul>
  );
  const lines = (row: typeof peers, isAbove: boolean) => (
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
      {row.map(({ link }, index) => {
        const x = (100 * (index + 0.5)) / row.length;
        const width = Math.sqrt(link.nominal.gigabytesPerSecond) / 4;
        return (
          <line
            key={link.address}
            class={`w${classes.indexOf(link.nominal.gigabytesPerSecond)} ${isIdle(link) ? "idle" : isReduced(link) ? "degraded" : ""}`}
            x1={x}
            y1={isAbove ? 0 : 100}
            x2={50 + (x - 50) / 6}
            y2={isAbove ? 100 : 0}
            stroke-width={Math.max(1.5, width)}
          />
        );
      })}
    </svg>
  );
  return (
    <section class="hub" aria-label="Picture of its links">
      {side(above)}
      {lines(above, true)}
      <p class={`self ${state}`}>
        <Glyph state={state} />
        <strong>{relativeTo(server.address, address)}</strong>
        <span class="unseen">{stateWord(state)}</span>
      </p>
      {below.length > 0 && lines(below, false)}
      {below.length > 0 && side(below)}
    </section>
  );
}

const isWithin = (address: string, server: string) => address.startsWith(`${server}/`);

interface PeerProps {
  link: ChipLink;
  /** The neighbor's. */
  address: string;
  chip: ChipPart;
  domain: string;
}

function Peer({ link, address, chip, domain }: PeerProps) {
  const [now, all] = [link.bandwidth.gigabytesPerSecond, link.nominal.gigabytesPerSecond];
  const state = isReduced(link) ? "degraded" : link.state;
  return (
    <a class={isIdle(link) ? "idle" : state} href={href("at", link.address)} title={link.address}>
      <strong>{relativeTo(domain, address)}</strong>
      <small>{kindOf(address, chip)}</small>
      <span>
        {isIdle(link) ? <IdleSign /> : <Glyph state={state} />} {isIdle(link) ? "idle" : number(now)}
        {!isIdle(link) && now < all && ` of ${number(all)}`}
      </span>
    </a>
  );
}

/** What a neighbor is to a chip. */
function kindOf(address: string, { server }: ChipPart): string {
  const node = server.domain.switches.nodes.find((node) => node.address === address);
  if (node) return node.server ? "server switch" : "rack switch";
  if (!/\/c\d+$/.test(address)) return "NIC";
  return isWithin(address, server.address) ? "same server" : "other server";
}
