// The explorer's entry point: a view for each address, inside the frame.
import { render } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { comparableOf } from "./compare/collection";
import { lazyView } from "./lazy";
import { Panel } from "./panel/panel";
import { ErrorPage } from "./parts";
import { change, href, type Route, selectedAddress, useRoute } from "./route";
import { Bar, steps } from "./shell/bar";
import { Notice } from "./shell/clock";
import { useSingleKeys } from "./shell/keys";
import { PrintFooter } from "./shell/printfooter";
import { Rail, useShell } from "./shell/rail";
import { useKey } from "./shortcuts";
import "./style/index.css";
import { At } from "./views/at";
import { ClusterView } from "./views/cluster";
import { Home } from "./views/home";

const DomainView = lazyView(async () => (await import("./domain/domain")).DomainView);
const Compare = lazyView(async () => (await import("./compare/compare")).Compare);
const Disagreements = lazyView(async () => (await import("./views/disagreements")).Disagreements);
const Findings = lazyView(async () => (await import("./incidents/findings")).Findings);
const Incidents = lazyView(async () => (await import("./incidents/incidents")).Incidents);
const Jobs = lazyView(async () => (await import("./jobs/jobs")).Jobs);
const MeasuredView = lazyView(async () => (await import("./views/measured")).MeasuredView);
const Query = lazyView(async () => (await import("./query/query")).Query);
const RackView = lazyView(async () => (await import("./rack/rack")).RackView);
const Reports = lazyView(async () => (await import("./views/reports")).Reports);
const Sources = lazyView(async () => (await import("./views/sources")).Sources);

const VIEWS: Record<string, (route: Route) => preact.ComponentChildren> = {
  home: ({ options }) => <Home span={options.span} />,
  at: (route) => <At key={route.subject} route={route} />,
  incidents: (route) => <Incidents route={route} />,
  findings: (route) => <Findings key={route.subject} route={route} />,
  jobs: ({ options }) => <Jobs options={options} />,
  compare: ({ options }) => <Compare options={options} />,
  sources: (route) => <Sources route={route} />,
  disagreements: (route) => <Disagreements route={route} />,
  cluster: (route) => <ClusterView key={route.subject} route={route} />,
  domain: (route) => <DomainView key={route.subject} route={route} />,
  rack: (route) => <RackView key={route.subject} route={route} />,
  measured: (route) => <MeasuredView key={route.subject} route={route} />,
  query: ({ options }) => <Query options={options} />,
  reports: (route) => <Reports key={route.subject} route={route} />,
};

const exists = ({ view }: Route) => Object.hasOwn(VIEWS, view);

function View({ route }: { route: Route }) {
  if (exists(route)) return <>{VIEWS[route.view]?.(route)}</>;
  return (
    <ErrorPage page={route.view}>
      <p class="failure">Page {route.view.slice(0, 80)} does not exist.</p>
    </ErrorPage>
  );
}

function titleOf(route: Route): string | undefined {
  if (!exists(route)) return "No such page";
  return route.subject || steps(route).at(-1)?.[0];
}

const WITH_PANEL = new Set(["cluster", "domain", "rack"]);

function App() {
  const route = useRoute();
  useSingleKeys();
  useEffect(() => {
    document.title = `${titleOf(route)} – trninv`;
    scrollTo(0, 0);
    mended();
  }, [route.view, route.subject]);
  const [broken, mended] = useErrorBoundary();
  const comparable = comparableOf(route);
  useKey(comparable ? "c" : null, () => import("./compare/add").then(({ add }) => add(comparable)));
  const shell = useShell();
  const isDesign = Boolean(shell && !shell.discoveries.totalCount && !shell.observations.totalCount);
  const sel = WITH_PANEL.has(route.view) ? selectedAddress(route) : "";
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <Bar route={route} isDesign={isDesign} />
      <Rail view={route.view} data={shell} />
      <main id="main" tabIndex={-1}>
        <Notice route={route} />
        {broken ? (
          <PageError error={broken} />
        ) : (
          <div class={sel ? "with-panel" : undefined}>
            <View route={route} />
            {sel && <Panel key={sel} address={sel} close={() => change({ sel: undefined })} />}
          </div>
        )}
        <PrintFooter />
      </main>
    </>
  );
}

function PageError({ error }: { error: Error }) {
  return (
    <p class="failure">
      This page failed: {String(error)}. <a href={href("home")}>Go to Fleet</a>
    </p>
  );
}

const root = document.getElementById("app") as HTMLElement;
root.replaceChildren();
render(<App />, root);
