// GraphiQL for the API that serves this page; it opens with questions about the first cluster that has two chips.
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import "graphiql/graphiql.css";

const url = window.location.pathname;
/** The token that the explorer keeps in this tab. */
const token = sessionStorage.getItem("trninv token");
const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};

const FIRST = `{ clusters(first: 20) { nodes { address domains(first: 1) { nodes {
  chips: servers(first: 1) { nodes { chips(first: 1) { nodes { address } } } }
  last: servers(last: 1) { nodes { chips(last: 1) { nodes { address } } } }
} } } } }`;

interface Servers {
  nodes: { chips: { nodes: { address: string }[] } }[];
}
interface First {
  data?: { clusters: { nodes: { address: string; domains: { nodes: { chips: Servers; last: Servers }[] } }[] } };
}

const GENERAL = `# What is there, and what can be seeded with trninv seed.
{
  clusters { nodes { slug system chips { totalCount } } }
  systems { slug name chips }
}
`;

const questions = (
  cluster: string,
  from: string,
  to: string,
) => `# Four questions about ${cluster}. Bandwidths are in one direction.
{
  path(from: "${from}", to: "${to}") {
    paths { hops bandwidth { gigabytesPerSecond } steps { kind address } }
  }
  bandwidth(from: "${from}", to: "${to}") {
    maximumFlow { gigabytesPerSecond }
  }
  memoryPool(scope: "${from}") { chips memory { gibibytes } byHops { hops chips } }
  bisection(scope: "${from.split("/").slice(0, 2).join("/")}") { upper { gigabytesPerSecond } exact method disputed }
}
`;

/** Questions about the first cluster with two chips in its first domain, or an example that needs none. */
async function firstQuery(): Promise<string> {
  const body = JSON.stringify({ query: FIRST });
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body,
  });
  const { data }: First = await response.json();
  for (const { address, domains } of data?.clusters.nodes ?? []) {
    const [from, to] = [domains.nodes[0]?.chips, domains.nodes[0]?.last].map(
      (end) => end?.nodes[0]?.chips.nodes[0]?.address,
    );
    if (from && to && from !== to) return questions(address, from, to);
  }
  return GENERAL;
}

const fetcher = createGraphiQLFetcher({ url, headers });
const root = createRoot(document.getElementById("graphiql") as HTMLElement);
const logo = createElement(GraphiQL.Logo, null, createElement("a", { href: "./" }, "trninv explorer"));
firstQuery()
  .catch(() => GENERAL)
  .then((defaultQuery) => root.render(createElement(GraphiQL, { fetcher, defaultQuery }, logo)));
