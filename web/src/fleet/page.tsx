// A cluster: unhealthy parts on a map of every chip, and the tiers of the fabric.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { download, graphql, type Loaded, makeQuery, type Result, unreachableError, useLoaded, useQuery } from "../api";
import { lazyView } from "../lazy";
import { Choice, CopyQueries, DownloadSvg, Loading, svgOf } from "../parts";
import { change, href, oneOf, type Route, selectedAddress } from "../route";
import { isSingleKey } from "../shortcuts";
import { type Count, Counts } from "../state";
import { number, pluralize, relativeTo } from "../words";
import { type AllocationMap, fetchAllocations } from "./allocations";
import { CauseList, CauseTable, Preview } from "./causes";
import { type ChipColors, COLOR_BY, type ColorBy, colorChips, needsAllocations } from "./color";
import { inkOf } from "./ink";
import { decodeOverview, domainOf, type Overview } from "./overview";
import "../style/map.css";
import "../style/map-forced.css";
import { useNarrow } from "../domain/wiring";
import { describeModels, tally, worstFirst } from "../health";
import {
  addressOfCause,
  type CAUSES,
  type Cause,
  causesOf,
  chipsAt,
  chipsIn,
  isUnhealthy,
  sortCauses,
  spotsOf,
} from "./spots";
import { overviewSvg } from "./svg";
import type { FleetMap as FleetMapView } from "./view";

const CLUSTER = graphql(`
  query Cluster($slug: String!, $scope: Address!) {
    cluster(slug: $slug) {
      address system
      domains(first: 1) { totalCount aggregates(by: [MODEL]) { model count } }
      racks(first: 1) { totalCount }
      chips(first: 1) { nodes { memory { gibibytes } } }
    }
    systems { slug domainModel }
    server: servers(first: 1, filter: { cluster: { eq: $scope }, state: { ne: UP } }) {
      aggregates(by: [STATE]) { state count }
    }
    switch: switches(first: 1, filter: { cluster: { eq: $scope }, state: { ne: UP } }) {
      aggregates(by: [STATE]) { state count }
    }
    nic: nics(first: 1, filter: { cluster: { eq: $scope }, state: { ne: UP } }) {
      aggregates(by: [STATE]) { state count }
    }
    network_node: networkNodes(first: 1, filter: { cluster: { eq: $scope }, state: { ne: UP } }) {
      aggregates(by: [STATE]) { state count }
    }
    link: links(first: 1, filter: { cluster: { eq: $scope }, state: { ne: UP } }) {
      aggregates(by: [STATE]) { state count }
    }
  }
`);

type Answer = Result<typeof CLUSTER>;
const map = import("./view");
const Fabric = lazyView(async () => (await import("./tiers")).Fabric);

/** Minimum pixels per tile when a cause is shown. */
const NEAR = 110;

export function FleetPage({ route }: { route: Route }) {
  const slug = route.subject.toLowerCase();
  const queries = [makeQuery(CLUSTER, { slug, scope: slug }), causesOf(slug)] as const;
  const chips = useLoaded(slug, async (signal) => {
    const body = await download(`chips/${encodeURIComponent(slug)}`, signal);
    const view = await map.catch(() => Promise.reject(unreachableError()));
    return { overview: decodeOverview(slug, body), FleetMap: view.FleetMap };
  });
  const clusterResult = useQuery(queries[0]);
  const causes = useQuery(queries[1]);
  const coloring = oneOf<ColorBy>(COLOR_BY, route.options.color, "state");
  const overview = chips.data?.overview;
  const allocations = useLoaded(overview && needsAllocations(coloring) ? slug : null, (signal) =>
    fetchAllocations(overview as Overview, signal),
  );
  // drawn at once, so that nothing moves when the last answer arrives
  const isDrawn = useRef("");
  const isHere = (result: Loaded<unknown>) => Boolean(result.data || result.error);
  if (isHere(causes) && (isHere(allocations) || !needsAllocations(coloring))) isDrawn.current = slug;
  return (
    <article class="fleet-page">
      {clusterResult.error && !chips.error && <Loading result={clusterResult}>{() => null}</Loading>}
      {clusterResult.data?.cluster && chips.data && isDrawn.current === slug ? (
        <Opened
          {...{ ...chips.data, causes, coloring, allocations, route }}
          answer={clusterResult.data}
          others={othersOf(clusterResult.data)}
          queries={[...queries]}
        />
      ) : (
        <>
          <header class="title">
            <h1>{slug || "No address"}</h1>
          </header>
          <Loading result={chips}>{() => null}</Loading>
        </>
      )}
    </article>
  );
}

interface Props {
  overview: Overview;
  FleetMap: typeof FleetMapView;
  answer: Answer;
  /** Unhealthy parts that are not chips. */
  others: Count[];
  causes: Loaded<Result<typeof CAUSES>>;
  coloring: ColorBy;
  allocations: Loaded<AllocationMap>;
  route: Route;
  queries: Parameters<typeof CopyQueries>[0]["queries"];
}

function Opened({ overview, FleetMap, answer, others, causes, coloring, allocations, route, queries }: Props) {
  const { options } = route;
  const slug = overview.cluster;
  const isFabric = options.fabric === "yes";
  const colors = useMemo(
    () => colorChips(overview, coloring, allocations.data),
    [overview, coloring, allocations.data],
  );
  const incidents = causes.data?.incidents;
  const list = useMemo(() => sortCauses(incidents?.nodes ?? []), [incidents]);
  const marked = useMemo(() => markedParts(list), [list]);
  const spots = useMemo(() => spotsOf(overview, incidents?.nodes ?? []), [overview, incidents]);
  const [fit, setFit] = useState(NEAR);
  const [chip, point] = useState(-1);
  const sel = selectedAddress(route);
  const index = list.findIndex((cause) => sel && (cause.causes.includes(sel) || cause.place === sel));
  const places = useMemo(() => list.flatMap(placesOf), [list]);
  const step = places.findIndex(({ cause, address }) => sel && (address === sel || cause.place === sel));
  const to = (cause: Cause, address = addressOfCause(cause)) => {
    const domain = /\/d\d+/.exec(address)?.[0].slice(1);
    const zoom = Math.max(Number(options.zoom) || 1, NEAR / fit);
    const there = domain && { at: domain, zoom: zoom > 1 ? zoom.toFixed(3) : undefined };
    return href("cluster", slug, {
      ...options,
      fabric: isAbove(address) ? "yes" : undefined,
      ...there,
      sel: relativeTo(slug, address),
    });
  };
  const above = list.filter((cause) => isAbove(addressOfCause(cause))).length;
  const go = (by: number) => {
    const next = places[(Math.max(step, by > 0 ? -1 : 0) + by + places.length) % places.length];
    if (next) location.hash = to(next.cause, next.address);
  };
  useKeys({ n: () => go(1), p: () => go(-1) });
  const table = useMemo(() => <CauseTable spots={spots} />, [spots]);
  const causeList = useMemo(
    () => (
      <Loading result={causes}>
        {({ incidents }) => (
          <CauseList
            cluster={slug}
            all={incidents.totalCount}
            causes={list}
            domains={[new Set(spots.map(({ address }) => domainOf(address))).size, overview.domains]}
            index={index}
            to={to}
          />
        )}
      </Loading>
    ),
    [causes, list, spots, index, options, fit],
  );
  const beside = chip >= 0 ? chip : firstOf(overview, sel || spots[0]?.address);
  const picture = () => overviewSvg(overview, colors, inkOf("surface"));
  return (
    <>
      <header class="title">
        <h1>{slug}</h1>
        <span class="states">
          <Counts counts={countsOf(colors, others)} />
        </span>
        <Summary answer={answer} chips={overview.chips} />
        <div class="tools">
          <CopyQueries queries={queries} />
          <DownloadSvg name={isFabric ? `${slug}-fabric` : slug} picture={isFabric ? svgOf("fabric") : picture} />
        </div>
      </header>
      <div class="tools modes">
        <Options
          name="Show"
          options={{ chips: "Chips", fabric: above ? `Fabric tiers: ${pluralize(above, "cause")}` : "Fabric tiers" }}
          chosen={isFabric ? "fabric" : "chips"}
          choose={(value) => change({ fabric: value === "fabric" ? "yes" : undefined })}
        />
        {!isFabric && (
          <Options name="Color by" options={COLOR_BY} chosen={coloring} choose={(value) => change({ color: value })} />
        )}
        {list.length > 0 && (
          <span class="steps">
            <button type="button" onClick={() => go(-1)}>
              Previous <kbd>P</kbd>
            </button>
            <span class="quiet">
              {step >= 0 && `${number(step + 1)} of `}
              {pluralize(places.length, "place")}
              {list.some(({ causes, causeCount }) => causeCount > causes.length) && " listed"}
              {list.length < places.length && `, ${pluralize(list.length, "cause")}`}
            </span>
            <button type="button" onClick={() => go(1)}>
              Next <kbd>N</kbd>
            </button>
          </span>
        )}
      </div>
      {allocations.error && <Loading result={allocations}>{() => null}</Loading>}
      {allocations.data && coloring === "free" && !allocations.data.blocks && (
        <p class="quiet">Free blocks are unavailable: the domains of this cluster have different models.</p>
      )}
      {isFabric ? (
        <Fabric cluster={slug} causes={causeList} table={table} />
      ) : (
        <div class="columns">
          <div aria-busy={allocations.loading}>
            <FleetMap
              {...{
                overview,
                colored: colors,
                allocations: allocations.data,
                spots,
                others: marked,
                sel,
                route,
                chip,
                beside,
                point,
                fitted: setFit,
              }}
              memory={overview.parts.length === 1 ? answer.cluster?.chips.nodes[0]?.memory.gibibytes : undefined}
            />
            {table}
          </div>
          <aside class="side" aria-label="Unhealthy parts">
            <Preview overview={overview} colored={colors} chip={beside} />
            {causeList}
          </aside>
        </div>
      )}
    </>
  );
}

/** Whether a part is in the fabric, which the map does not show. */
const isAbove = (address: string) => address.includes("/fabric/") && !/\/d\d+\//.test(address);

const firstOf = (overview: Overview, address = "") => (address ? (chipsAt(overview, address)?.first ?? 0) : 0);

/** The places of a cause, through which the keys N and P step. */
const placesOf = (cause: Cause) =>
  (cause.causes.length ? cause.causes : [addressOfCause(cause)]).map((address) => ({ cause, address }));

const KINDS = ["server", "switch", "network_node", "link", "nic"] as const;

const othersOf = (answer: Answer): Count[] =>
  KINDS.flatMap((kind) => answer[kind].aggregates.map(({ state, count }) => ({ kind, state: state ?? "down", count })));

/** The same counts in the same order as on the Fleet page. */
function countsOf({ entries }: ChipColors, others: Count[]): Count[] {
  const chips = entries
    .filter(({ key, count }) => count && isUnhealthy(key))
    .map(({ key, count }) => ({ kind: "chip", state: key, count }));
  return [...chips, ...others].sort(worstFirst);
}

/** Parts of causes without chips, which have markers of their own. */
function markedParts(causes: Cause[]): Count[] {
  const parts = causes.filter((cause) => !chipsIn(cause)).flatMap((cause) => cause.parts);
  return tally(parts).sort(worstFirst);
}

interface OptionsProps<T extends string> {
  name: string;
  options: Record<T, string>;
  chosen: T;
  choose: (value: T) => void;
}

/** A choice; on a phone as a menu. */
function Options<T extends string>(props: OptionsProps<T>) {
  const { name, options, chosen, choose } = props;
  if (!useNarrow()) return <Choice {...props} />;
  return (
    <label>
      {name}
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value as T)}>
        {(Object.entries(options) as [T, string][]).map(([value, label]) => (
          <option key={value} value={value} selected={value === chosen}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Single keys, unless typed into a field. */
function useKeys(keys: Record<string, () => void>): void {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const act = keys[event.key.toLowerCase()];
      if (!act || !isSingleKey(event)) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

function Summary({ answer: { cluster, systems }, chips }: { answer: Answer; chips: number }) {
  if (!cluster) return null;
  const { system, domains, racks } = cluster;
  const models = describeModels(domains.aggregates, systems).join(", ");
  const adopted = `${pluralize(domains.totalCount, "domain")} in ${pluralize(racks.totalCount, "rack")}, adopted from imported data: ${models}`;
  return (
    <p>
      {pluralize(chips, "chip")} · {system === "adopted" ? adopted : models}
    </p>
  );
}
