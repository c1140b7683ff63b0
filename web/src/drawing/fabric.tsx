// The tiers of a fabric as a tree: the top tier above, each network node over those below it.
import { number, pluralize } from "../words";

interface NetworkNode {
  address: string;
  vendorId: string | null;
  tier: number;
  state: string;
}

interface Uplink {
  address: string;
  state: string;
  cables: number;
  bandwidth: { gigabytesPerSecond: number };
  a: { address: string };
  b: { address: string };
}

const LEAF = 9;
const ACROSS = 6;
const BOX = { width: 60, height: 22, gap: 10 };
const TIER = 90;
const LEFT = 20;
const TOP = 40;

interface PlacedNode {
  node: NetworkNode;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where every network node is drawn; trninv/drawing/fabric.py places them the same. */
function placeNodes(nodes: NetworkNode[], links: Uplink[]): Map<string, PlacedNode> {
  const tiers = [...new Set(nodes.map((node) => node.tier))].sort((a, b) => a - b);
  const above = new Map(links.map((link) => [link.a.address, link.b.address]));
  const below = new Map<string, NetworkNode[]>();
  for (const node of nodes) {
    const parent = above.get(node.address) ?? "";
    below.set(parent, [...(below.get(parent) ?? []), node]);
  }
  const last = tiers.at(-1);
  const boxes = new Map<string, PlacedNode>();
  let x = LEFT;
  const place = (node: NetworkNode): { from: number; to: number } => {
    const children = below.get(node.address) ?? [];
    const y = TOP + tiers.indexOf(node.tier) * TIER;
    const from = x;
    if (children.length && children[0]?.tier === last) {
      children.forEach((child, index) => {
        const [x, row] = [from + LEAF * (index % ACROSS), Math.floor(index / ACROSS)];
        boxes.set(child.address, { node: child, x, y: y + TIER + LEAF * row, width: LEAF - 2, height: LEAF - 2 });
      });
      x += Math.max(BOX.width, LEAF * ACROSS) + BOX.gap;
    } else if (children.length) for (const child of children) place(child);
    else x += BOX.width + BOX.gap;
    const to = x - BOX.gap;
    boxes.set(node.address, { node, x: (from + to - BOX.width) / 2, y, width: BOX.width, height: BOX.height });
    return { from, to };
  };
  for (const root of below.get("") ?? []) place(root);
  return boxes;
}

export function FabricPicture({
  id,
  cluster,
  nodes,
  links,
}: {
  id: string;
  cluster: string;
  nodes: NetworkNode[];
  links: Uplink[];
}) {
  const boxes = placeNodes(nodes, links);
  const all = [...boxes.values()];
  const width = Math.max(...all.map((box) => box.x + box.width)) + LEFT;
  const height = Math.max(...all.map((box) => box.y + box.height)) + LEFT;
  const last = Math.max(...nodes.map((node) => node.tier));
  const idle = new Set([
    ...nodes.filter((node) => node.state === "down" || node.state === "maintenance").map((node) => node.address),
    ...links.filter((link) => !carries(link)).map((link) => link.a.address),
  ]);
  const drawn = links.filter((link) => boxes.get(link.a.address)?.node.tier !== last);
  const tiers = [...new Set(nodes.map((node) => node.tier))].sort((a, b) => a - b);
  return (
    <div class="wide">
      <svg id={id} class="fabric" viewBox={`0 0 ${width} ${height}`} style={{ width: `${width}px` }} role="img">
        <title>{`The fabric of ${cluster}: ${tiers.map((tier) => `tier ${tier}: ${pluralize(nodes.filter((node) => node.tier === tier).length, "network node")}`).join("; ")}`}</title>
        {drawn.map((link) => {
          const [a, b] = [boxes.get(link.a.address), boxes.get(link.b.address)];
          if (!a || !b) return null;
          const ends = { x1: a.x + a.width / 2, y1: a.y, x2: b.x + b.width / 2, y2: b.y + b.height };
          return (
            <line key={link.address} class={carries(link) ? "" : "off"} {...ends}>
              <title>{describeLink(link)}</title>
            </line>
          );
        })}
        {bundles(boxes, links, last).map(([below, above]) => (
          <line
            key={below.node.address}
            x1={above.x + above.width / 2}
            y1={below.y}
            x2={above.x + above.width / 2}
            y2={above.y + above.height}
          />
        ))}
        {all.map(({ node, ...box }) => (
          <g key={node.address} class={idle.has(node.address) ? "switch off" : "switch"}>
            <title>{`${node.address}${node.vendorId ? ` ${node.vendorId}` : ""}, ${idle.has(node.address) && node.state === "up" ? "disconnected" : node.state}`}</title>
            <rect {...box} />
            {node.tier !== last && (
              <text x={box.x + box.width / 2} y={box.y + 15}>
                {node.address.split("/fabric/")[1]}
              </text>
            )}
          </g>
        ))}
      </svg>
      <ul class="legend">
        {tiers.map((tier) => {
          const up = links.filter((link) => boxes.get(link.a.address)?.node.tier === tier);
          const sum = up.reduce((total, link) => total + link.bandwidth.gigabytesPerSecond, 0);
          return (
            <li key={tier}>
              tier {tier}: {pluralize(nodes.filter((node) => node.tier === tier).length, "network node")}
              {up.length > 0 && `, ${number(sum)} GB/s up, one direction`}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** The lowest tier's nodes below each node, as one line for all of them. */
function bundles(boxes: Map<string, PlacedNode>, links: Uplink[], last: number): [PlacedNode, PlacedNode][] {
  const lines = new Map<string, [PlacedNode, PlacedNode]>();
  for (const link of links) {
    const [below, above] = [boxes.get(link.a.address), boxes.get(link.b.address)];
    if (below?.node.tier === last && above && !lines.has(link.b.address)) lines.set(link.b.address, [below, above]);
  }
  return [...lines.values()];
}

/** What its ends carry is in its bandwidth. */
const carries = (link: Uplink) => link.bandwidth.gigabytesPerSecond > 0;

const describeLink = (link: Uplink) =>
  `${link.address}: ${pluralize(link.cables, "cable")}, ${number(link.bandwidth.gigabytesPerSecond)} GB/s one direction, ${link.state}`;
