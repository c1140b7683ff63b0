// Every chip of a cluster: the packed list of /chips, and the chips' addresses.
export const STATES = ["up", "degraded", "down", "maintenance"] as const;

/** Consecutive domains of one model; first…: the numbers at which they begin. */
export interface Part {
  domains: number;
  servers: number;
  perServer: number;
  perDomain: number;
  serversPerRack: number;
  firstDomain: number;
  firstChip: number;
  firstRack: number;
}

export interface Overview {
  cluster: string;
  chips: number;
  domains: number;
  parts: Part[];
  states: Uint8Array;
  pools: Uint8Array;
}

const FIXED = 12;

/** Parse the packed list that trninv/routing/cluster_overview.py writes. */
export function decodeOverview(cluster: string, packed: ArrayBuffer): Overview {
  const view = new DataView(packed);
  const word = (place: number) => view.getUint32(4 + 4 * place, true);
  const [version, chips] = [word(0), word(1)];
  if (view.getUint32(0, false) !== 0x54524e49 || (version !== 1 && version !== 2))
    throw new Error("The list of chips has an unknown version. Reload the page.");
  const sizes =
    version === 1
      ? [[chips / (word(2) * word(3)), word(3), word(2), word(4)]]
      : Array.from({ length: word(2) }, (_, part) => [0, 1, 2, 3].map((size) => word(3 + 4 * part + size)));
  const header = FIXED + (version === 1 ? 12 : 4 + 16 * sizes.length);
  const parts = partsOf(sizes as [number, number, number, number][]);
  return {
    cluster,
    chips,
    domains: parts.reduce((sum, part) => sum + part.domains, 0),
    parts,
    states: new Uint8Array(packed, header, chips),
    pools: new Uint8Array(packed, header + chips, chips),
  };
}

function partsOf(sizes: [number, number, number, number][]): Part[] {
  let [firstDomain, firstChip, firstRack] = [0, 0, 0];
  return sizes.map(([domains, servers, perServer, serversPerRack]) => {
    const perDomain = servers * perServer;
    const part = { domains, servers, perServer, perDomain, serversPerRack, firstDomain, firstChip, firstRack };
    firstDomain += domains;
    firstChip += domains * perDomain;
    firstRack += Math.ceil((domains * servers) / serversPerRack);
    return part;
  });
}

/** Whether a chip is up or degraded. */
export const carries = ({ states }: Overview, chip: number) => (states[chip] ?? 0) < STATES.indexOf("down");

/** A chip's section, its domain's number, and its number within the domain. */
export function placeOf(overview: Overview, chip: number): [Part, number, number] {
  const part = overview.parts.findLast((candidate) => candidate.firstChip <= chip) as Part;
  const within = chip - part.firstChip;
  return [part, part.firstDomain + Math.floor(within / part.perDomain), within % part.perDomain];
}

/** The first chip of a domain, and the number of its chips. */
export function chipsOf(overview: Overview, domain: number): [number, number] {
  const part = overview.parts.findLast((candidate) => candidate.firstDomain <= domain) as Part;
  return [part.firstChip + (domain - part.firstDomain) * part.perDomain, part.perDomain];
}

export function addressOf(overview: Overview, chip: number): string {
  const [{ perServer }, domain, inside] = placeOf(overview, chip);
  return `${overview.cluster}/d${domain}/s${Math.floor(inside / perServer)}/c${inside % perServer}`;
}

export const domainOf = (address: string) => address.split("/").slice(0, 2).join("/");

export function rackOf(overview: Overview, chip: number): number {
  const [{ perServer, serversPerRack, firstRack, firstChip }] = placeOf(overview, chip);
  return firstRack + Math.floor((chip - firstChip) / perServer / serversPerRack);
}
