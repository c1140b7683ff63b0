// The explorer: a view for each address.
import { render } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { DomainView } from "./domain/view";
import { href, type Route, useRoute } from "./route";
import "./style/index.css";
import { ThemeSwitch } from "./theme";
import { ClusterView } from "./views/cluster";
import { Disagreements } from "./views/disagreements";
import { Home } from "./views/home";
import { RackView } from "./views/rack";
import { Reports } from "./views/reports";

function View({ route }: { route: Route }) {
  switch (route.view) {
    case "home":
      return <Home />;
    case "disagreements":
      return <Disagreements route={route} />;
    case "cluster":
      return <ClusterView key={route.of} route={route} />;
    case "domain":
      return <DomainView key={route.of} route={route} />;
    case "rack":
      return <RackView key={route.of} route={route} />;
    case "reports":
      return <Reports key={route.of} route={route} />;
    default:
      return (
        <p class="failure">
          There is no page {route.view}. <a href={href("home")}>To the start.</a>
        </p>
      );
  }
}

function App() {
  const route = useRoute();
  useEffect(() => {
    document.title = route.of ? `${route.of} – trninv` : "trninv";
    scrollTo(0, 0);
    mended();
  }, [route.view, route.of]);
  const [broken, mended] = useErrorBoundary();
  const cluster = route.view === "reports" ? "" : (route.of.split("/")[0] ?? "");
  const link = (view: string, label: string) => (
    <a href={href(view)} aria-current={route.view === view && !route.of ? "page" : undefined}>
      {label}
    </a>
  );
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <nav class="top" aria-label="Main">
        <a class="logo" href={href("home")}>
          trninv
        </a>
        {link("home", "Home")}
        {cluster && route.view !== "cluster" && <a href={href("cluster", cluster)}>{cluster}</a>}
        {link("disagreements", "Disagreements")}
        {link("reports", "Reports")}
        <a href="graphql">GraphiQL</a>
        <ThemeSwitch />
      </nav>
      <main id="main" tabIndex={-1}>
        {broken ? <Broken error={broken} /> : <View route={route} />}
      </main>
    </>
  );
}

function Broken({ error }: { error: Error }) {
  return (
    <p class="failure">
      This page failed: {String(error)}. <a href={href("home")}>To the start.</a>
    </p>
  );
}

const root = document.getElementById("app") as HTMLElement;
root.replaceChildren();
render(<App />, root);
