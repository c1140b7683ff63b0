// One address: the view that contains it, with its panel open.
import { useEffect } from "preact/hooks";
import { graphql, makeQuery, useQuery } from "../api";
import { lazyView } from "../lazy";
import { domainOf, Panel } from "../panel/panel";
import { Loading } from "../parts";
import { href, type Route } from "../route";

const FIND = graphql(`
  query Find($address: Address!) { resolve(address: $address) { __typename address } }
`);

const ServerView = lazyView(async () => (await import("../part/server")).ServerView);
const ChipView = lazyView(async () => (await import("../part/chip")).ChipView);

/** Kinds that have a view of their own. */
const VIEWS: Record<string, string> = { Cluster: "cluster", Domain: "domain", Rack: "rack" };

export function At({ route }: { route: Route }) {
  return (
    <Loading result={useQuery(makeQuery(FIND, { address: route.subject }))} page={route.subject}>
      {({ resolve: { __typename: kind, address } }) => {
        const view = VIEWS[kind];
        if (view) return <Redirect to={href(view, address)} />;
        if (kind === "Core") return <Redirect to={href("at", address.replace(/\/[^/]+$/, ""))} />;
        if (kind === "Server") return <ServerView key={address} address={address} />;
        if (kind === "Chip") return <ChipView key={address} address={address} />;
        return (
          <article class="one">
            <header class="title">
              <h1>{address}</h1>
              <div class="tools">
                {domainOf(address) && <a href={href("domain", domainOf(address))}>{domainOf(address)}</a>}
              </div>
            </header>
            <Panel address={address} />
          </article>
        );
      }}
    </Loading>
  );
}

function Redirect({ to }: { to: string }) {
  useEffect(() => location.replace(to), [to]);
  return null;
}
