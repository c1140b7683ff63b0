// The health of clusters: unhealthy parts by kind and state, the worst cluster first.
import { useState } from "preact/hooks";
import { type Shape, sizesOf } from "./fleet/miniature";
import { type Count, isState, STATES, type State } from "./state";
import { number } from "./words";

type Aggregates = { aggregates: { cluster: string | null; state?: string | null; count: number }[] };

type Parts = { nodes: { address: string; state: string }[] };

interface HealthAnswer {
  clusters: {
    nodes: {
      slug: string;
      domains: Parameters<typeof sizesOf>[0] & {
        totalCount: number;
        aggregates: Model[];
        nodes: { address: string }[];
      };
      chips: { totalCount: number };
    }[];
  };
  systems: System[];
  all: Aggregates;
  live: Aggregates;
  hosts: Aggregates;
  chip: Aggregates & Parts;
  server: Aggregates;
  switch: Aggregates & Parts;
  nic: Aggregates & Parts;
  node: Aggregates;
  link: Aggregates & Parts;
}

export interface Health {
  slug: string;
  /** The models of its domains in words, such as 3 × Trn2 UltraServer. */
  models: string[];
  /** Its domain, if it has only one. */
  alone: string | undefined;
  shape: Shape;
  chips: number;
  servers: number;
  /** Servers with an instance or a host. */
  live: number;
  unhealthy: Count[];
}

type Model = { model: string | null; count: number };
type System = { slug: string; domainModel: string };

/** Models of domains in words, such as 3 × Trn2 UltraServer; a model is named as the system of its slug. */
export function describeModels(models: readonly Model[], systems: readonly System[]): string[] {
  const isOne = models.length === 1 && models[0]?.count === 1;
  return models.map(({ model, count }) => {
    const name = systems.find(({ slug }) => slug === model)?.domainModel ?? model ?? "";
    return isOne ? name : `${number(count)} × ${name}`;
  });
}

const KINDS = ["server", "chip", "switch", "nic", "node", "link"] as const;

export function healthOf(data: HealthAnswer): Health[] {
  const clusters = data.clusters.nodes.map((cluster) => {
    const own = ({ aggregates }: Aggregates) => aggregates.filter((row) => row.cluster === cluster.slug);
    const sum = (group: Aggregates) => own(group).reduce((total, { count }) => total + count, 0);
    const parts = ({ nodes }: Parts) => nodes.filter(({ address }) => address.startsWith(`${cluster.slug}/`));
    const domain = cluster.domains.nodes[0];
    const domains = cluster.domains.totalCount;
    return {
      slug: cluster.slug,
      models: describeModels(cluster.domains.aggregates, data.systems),
      alone: domains === 1 ? domain?.address : undefined,
      shape: {
        domains,
        sizes: sizesOf(cluster.domains),
        unhealthy: [data.chip, data.switch, data.link, data.nic].flatMap(parts),
      },
      chips: cluster.chips.totalCount,
      servers: sum(data.all),
      live: sum(data.live) + sum(data.hosts),
      unhealthy: KINDS.flatMap((kind) =>
        own(data[kind]).map(({ state, count }) => ({
          kind: kind === "node" ? "network_node" : kind,
          state: state ?? "down",
          count,
        })),
      ),
    };
  });
  return clusters.sort(worse);
}

function worse(a: Health, b: Health): number {
  for (const state of STATES) {
    const [x, y] = [a, b].map(({ unhealthy }) =>
      unhealthy.reduce((sum, count) => sum + (count.state === state ? count.count : 0), 0),
    );
    if (x !== y) return (y ?? 0) - (x ?? 0);
  }
  return b.chips - a.chips;
}

/** Kinds in the order of their counts. */
const ORDER = ["server", "switch", "chip", "network_node", "link", "nic"];

/** Down before degraded; servers and switches before what follows from them. */
export const worstFirst = (a: Count, b: Count) =>
  STATES.indexOf(a.state as State) - STATES.indexOf(b.state as State) || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind);

/** Sum counts of the same kind and state. */
export function tally(counts: Count[]): Count[] {
  const sums = new Map<string, Count>();
  for (const { kind, state, count } of counts) {
    const sum = sums.get(`${kind} ${state}`) ?? { kind, state, count: 0 };
    sums.set(`${kind} ${state}`, { ...sum, count: sum.count + count });
  }
  return [...sums.values()];
}

/** A bar of all chips, in which unhealthy ones have at least 3 px. */
export function Bar({ chips, counts }: { chips: number; counts: Count[] }) {
  const order = STATES.filter((state) => state !== "up");
  return (
    <span class="health" aria-hidden="true">
      <span class="up" style={{ flexGrow: chips - counts.reduce((sum, { count }) => sum + count, 0) }} />
      {order.flatMap((state) =>
        counts
          .filter((count) => count.state === state && isState(state))
          .map(({ count }) => <span key={state} class={state} style={{ flexGrow: count }} />),
      )}
    </span>
  );
}

const COMMANDS = ["trninv seed u-trn2x64", "trninv seed", "trninv docs adopt-a-fleet"];

/** Shown for an empty database: how to begin. */
export function Seed() {
  const [copied, setCopied] = useState("");
  const copy = async (command: string) => {
    await navigator.clipboard.writeText(command).catch(() => {});
    setCopied(command);
  };
  return (
    <section class="card" aria-label="Get started">
      <h2>No clusters yet</h2>
      <p>Seed one documented system, seed all small systems, or read how to add your own machines:</p>
      <ul class="plain">
        {COMMANDS.map((command) => (
          <li key={command}>
            <code>{command}</code>{" "}
            <button type="button" onClick={() => copy(command)}>
              <span aria-live="polite">{copied === command ? "Copied" : "Copy"}</span>
              <span class="unseen"> {command}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
