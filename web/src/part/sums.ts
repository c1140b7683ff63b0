// What the links of a server carry, by where they lead: designed and now.
import { pluralize, relativeTo } from "../words";
import type { Surroundings } from "./documents";

export interface LinkSum {
  name: string;
  before: number;
  now: number;
  /** The other server, if the links lead to one. */
  to?: string;
}

const serverOf = (address: string) => /^.*\/s\d+(?=\/|$)/.exec(address)?.[0] ?? "";

/** Sum up the links of a server's chips, then its EFA devices with their links to chips and to the network. */
export function linkSums(server: Surroundings, nicLinks: number): LinkSum[] {
  const sums = new Map<string, LinkSum & { links: number }>();
  const order = ["Between", "To its", "To the", "To s"];
  const rank = ({ name }: LinkSum) => order.findIndex((start) => name.startsWith(start));
  for (const { a, b, nominal, bandwidth } of server.domain.links.nodes) {
    const ends = [a.address, b.address];
    const inside = ends.filter((end) => serverOf(end) === server.address);
    if (!inside.length) continue;
    const other = ends.find((end) => serverOf(end) !== server.address) ?? "";
    const peer = serverOf(other);
    const itsSwitch = server.domain.switches.nodes.find(({ address }) => address === other)?.server;
    const name = peer
      ? `To ${relativeTo(server.domain.address, peer)}`
      : !other
        ? "Between its chips"
        : itsSwitch?.ordinal === server.ordinal
          ? "To its switch"
          : "To the rack's switch";
    const sum = sums.get(name) ?? { name, before: 0, now: 0, links: 0, ...(peer && { to: peer }) };
    sums.set(name, {
      ...sum,
      before: sum.before + nominal.gigabytesPerSecond,
      now: sum.now + bandwidth.gigabytesPerSecond,
      links: sum.links + 1,
    });
  }
  const nics = server.nics.nodes;
  const carries = ({ state, factor }: (typeof nics)[number]) =>
    state === "down" || state === "maintenance" ? 0 : (factor ?? 1);
  const efa = {
    name: `EFA, ${pluralize(nics.length, "NIC")}, ${pluralize(nicLinks, "link")}`,
    before: nics.reduce((sum, { bandwidth }) => sum + bandwidth.gigabytesPerSecond, 0),
    now: nics.reduce((sum, nic) => sum + carries(nic) * nic.bandwidth.gigabytesPerSecond, 0),
  };
  const links = [...sums.values()]
    .sort((a, b) => rank(a) - rank(b))
    .map(({ links, ...sum }) => ({
      ...sum,
      name: `${sum.name}, ${pluralize(links, "link")}`,
    }));
  return nics.length ? [...links, efa] : links;
}
