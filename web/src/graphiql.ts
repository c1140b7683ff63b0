// GraphiQL for the API that serves this page.
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import "graphiql/graphiql.css";

const FIRST_QUERY = `# Four questions about a Trn2 UltraServer. Bandwidths are in one direction.
{
  path(from: "u-trn2x64/d0/s0/c0", to: "u-trn2x64/d0/s2/c10") {
    paths { hops bandwidth { gigabytesPerSecond } steps { kind address } }
  }
  bandwidth(from: "u-trn2x64/d0/s0/c0", to: "u-trn2x64/d0/s2/c10") {
    maximumFlow { gigabytesPerSecond }
  }
  memoryPool(scope: "u-trn2x64/d0/s0/c0") { chips memory { gibibytes } byHops { hops chips } }
  bisection(scope: "u-trn2x64") { upper { gigabytesPerSecond } exact method disputed }
}
`;

const fetcher = createGraphiQLFetcher({ url: window.location.pathname });
createRoot(document.getElementById("graphiql") as HTMLElement).render(
  createElement(
    GraphiQL,
    { fetcher, defaultQuery: FIRST_QUERY },
    createElement(GraphiQL.Logo, null, createElement("a", { href: "./" }, "trninv explorer")),
  ),
);
