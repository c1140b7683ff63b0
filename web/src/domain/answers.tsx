// The answers next to the picture, each before and after the scenario.
import type { ComponentChildren } from "preact";
import type { Loaded } from "../api";
import { type Ring, Rings } from "../drawing/rings";
import { textOf, useLoss } from "../part/loss";
import { DISPUTED, Loading } from "../parts";
import { citation, gibibytes, gigabytes, number, pluralize, relativeTo } from "../words";
import type { BandwidthAnswer, BisectionAnswer, PathAnswer, PoolAnswer, SourceFact, WithBaseline } from "./documents";
import { cutOf, type Hop, hopsOf, narrowestOf } from "./links";
import { Metric } from "./metric";
import type { Mode } from "./modes";
import type { Answers } from "./requests";

interface CardProps {
  title: string;
  /** The scenario in a few words. */
  scenarioText: string;
  /** Whether its two parts have several lines each, which are reserved while they load. */
  isLong?: boolean;
  children: ComponentChildren;
}

function Card({ title, scenarioText, isLong = false, children }: CardProps) {
  return (
    <section class={isLong ? "card flush long" : "card flush"} aria-label={title}>
      <h2>
        {title} {scenarioText && <span class="pill">{scenarioText}</span>}
      </h2>
      {children}
    </section>
  );
}

const hops = (answer: PathAnswer) => answer.paths[0]?.hops ?? null;
const narrowest = (answer: PathAnswer) => answer.paths[0]?.bandwidth?.gigabytesPerSecond ?? null;
const baselineOf = <T, N>(answer: WithBaseline<T>, read: (answer: T) => N) =>
  answer.baseline ? read(answer.baseline) : undefined;

/** The links that limit an answer: s0/c10 – s1/c10 and 1 more; of a cut, the links of s0/c0 if they share a chip. */
function Limit({ domain, links, isCut = false }: { domain: string; links: Hop[]; isCut?: boolean }) {
  const [first, ...rest] = links;
  if (!first) return null;
  const shared =
    isCut && rest.length ? first.ends.find((end) => rest.every(({ ends }) => ends.includes(end))) : undefined;
  return (
    <div>
      <dt>{isCut ? "Limited by" : "Narrowest at"}</dt>
      <dd>
        {shared
          ? `the links of ${relativeTo(domain, shared)}`
          : `${first.ends.map((end) => relativeTo(domain, end)).join(" – ")}${rest.length ? ` and ${number(rest.length)} more` : ""}`}
      </dd>
    </div>
  );
}

interface BetweenProps {
  domain: string;
  title: string;
  scenarioText: string;
  mode: Mode;
  answers: Answers;
}

/** Paths and flow between two chips. */
export function Between({ domain, title, scenarioText, mode, answers: { shortest, widest, flow } }: BetweenProps) {
  return (
    <Card title={title} scenarioText={scenarioText} isLong>
      <Loading result={mode === "widest" ? widest : shortest}>
        {(ways) => (
          <>
            <dl class="figures inner">
              <Metric
                name={mode === "widest" ? "Widest path" : "Shortest path"}
                now={hops(ways)}
                before={baselineOf(ways, hops)}
                unit="hop"
                less
                isAnswer
              />
              <Metric name="Tied paths" now={ways.tiedPaths} before={baselineOf(ways, (answer) => answer.tiedPaths)} />
              <Metric name="Narrowest link" now={narrowest(ways)} before={baselineOf(ways, narrowest)} unit="GB/s" />
              <Limit domain={domain} links={narrowestOf(hopsOf(ways))} />
            </dl>
            {!ways.reachable && <p class="failure inner">No path: {ways.reason}</p>}
          </>
        )}
      </Loading>
      <Loading result={flow}>
        {(answer) => (
          <>
            <dl class="figures inner">
              <Metric name="Maximum flow" now={most(answer)} before={baselineOf(answer, most)} unit="GB/s" isAnswer />
              <Metric
                name="Minimum cut"
                now={answer.minimumCut.totalCount}
                before={baselineOf(answer, (flow) => flow.minimumCut.totalCount)}
                unit="link"
              />
              <Limit domain={domain} links={cutOf(answer.minimumCut.nodes)} isCut />
            </dl>
            <Sources answer={answer} />
          </>
        )}
      </Loading>
    </Card>
  );
}

const most = (answer: BandwidthAnswer) => answer.maximumFlow.gigabytesPerSecond;

interface DomainProps {
  scenarioText: string;
  halves: Loaded<WithBaseline<BisectionAnswer>>;
  pool: Loaded<WithBaseline<PoolAnswer>>;
}

/** Totals of the domain. */
export function Domain({ scenarioText, halves, pool }: DomainProps) {
  return (
    <Card title="Domain" scenarioText={scenarioText}>
      <Loading result={halves}>
        {(answer) => (
          <dl class="figures inner">
            <Bounds halves={answer} />
          </dl>
        )}
      </Loading>
      <Loading result={pool}>
        {(answer) => (
          <dl class="figures inner">
            <Reach pool={answer} />
          </dl>
        )}
      </Loading>
    </Card>
  );
}

const upper = (answer: BisectionAnswer) => answer.upper.gigabytesPerSecond;
const sizes = ({ sideA, sideB }: BisectionAnswer) => `${sideA} and ${sideB} chips`;

/** Bisections of different numbers of chips don't compare. */
export const comparable = ({ difference }: WithBaseline<BisectionAnswer>) => !difference?.incomparable;

function Bounds({ halves, isAnswer = false }: { halves: WithBaseline<BisectionAnswer>; isAnswer?: boolean }) {
  const compares = comparable(halves);
  return (
    <>
      <Metric
        name="Bisection bandwidth"
        isAnswer={isAnswer}
        now={upper(halves)}
        before={baselineOf(halves, upper)}
        unit="GB/s"
        note={compares ? undefined : "not comparable"}
      />
      {!halves.exact && (
        <Metric
          name="At least"
          now={halves.lower.gigabytesPerSecond}
          before={baselineOf(halves, (answer) => answer.lower.gigabytesPerSecond)}
          unit="GB/s"
        />
      )}
      {!compares && halves.baseline && (
        <div>
          <dt>Halves</dt>
          <dd class="quiet">
            {sizes(halves.baseline)} before, {sizes(halves)} now
          </dd>
        </div>
      )}
    </>
  );
}

function Reach({ pool, isAnswer = false }: { pool: WithBaseline<PoolAnswer>; isAnswer?: boolean }) {
  return (
    <Metric
      name="Memory pool"
      isAnswer={isAnswer}
      now={pool.memory.gibibytes}
      before={baselineOf(pool, (answer) => answer.memory.gibibytes)}
      unit="GiB"
    />
  );
}

interface BisectionProps {
  domain: string;
  scenarioText: string;
  halves: Loaded<WithBaseline<BisectionAnswer>>;
}

export function Bisection({ domain, scenarioText, halves }: BisectionProps) {
  const loss = useLoss(scenarioText ? "" : domain);
  return (
    <Card title={`Bisection of ${domain}`} scenarioText={scenarioText}>
      <Loading result={halves}>
        {(answer) => (
          <>
            <dl class="figures inner">
              <Bounds halves={answer} isAnswer />
              {loss && !scenarioText && (
                <div>
                  <dt>Before the worst incident</dt>
                  <dd>
                    {textOf(loss.bisectionBefore)} GB/s of {pluralize(loss.chipsBefore, "chip")}
                  </dd>
                </div>
              )}
              <Metric
                name="Links crossing the halves"
                now={answer.cut.totalCount}
                before={baselineOf(answer, (halves) => halves.cut.totalCount)}
              />
              {comparable(answer) && (
                <div>
                  <dt>Halves</dt>
                  <dd>{sizes(answer)}</dd>
                </div>
              )}
            </dl>
            <p class="quiet inner">{answer.exact ? "Exact" : "Bounds"}, one direction.</p>
            <Sources answer={answer} method={answer.method} />
          </>
        )}
      </Loading>
    </Card>
  );
}

interface PoolProps {
  title: string;
  scenarioText: string;
  pool: Loaded<WithBaseline<PoolAnswer>>;
  from: string;
}

export function MemoryPool({ title, scenarioText, pool, from }: PoolProps) {
  return (
    <Card title={title} scenarioText={scenarioText}>
      <Loading result={pool}>
        {(answer) => (
          <>
            <dl class="figures inner">
              <Reach pool={answer} isAnswer />
              <Metric
                name="Provided by"
                now={answer.chips}
                before={baselineOf(answer, (pool) => pool.chips)}
                unit="chip"
              />
            </dl>
            <Hops pool={answer} from={from} />
            <Sources answer={answer} />
          </>
        )}
      </Loading>
    </Card>
  );
}

function Hops({ pool, from }: { pool: PoolAnswer; from: string }) {
  const rings: Ring[] = pool.byHops.map((ring) => ({
    hops: ring.hops,
    chips: ring.reached.map((chip) => chip.address),
    description: `${pluralize(ring.hops, "hop")}: ${pluralize(ring.chips, "chip")}, ${gibibytes(ring.memory)}`,
  }));
  return (
    <div class="pool inner">
      <Rings id="rings" own={from} rings={rings} />
      <table>
        <thead>
          <tr>
            <th>Hops</th>
            <th>Chips</th>
            <th>Memory</th>
            <th>Bandwidth</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>
              <span class="swatch hop h0" /> 0
            </td>
            <td>itself</td>
            <td>{gibibytes(pool.own)}</td>
            <td />
          </tr>
          {pool.byHops.map((ring) => (
            <tr key={ring.hops}>
              <td>
                <span class={`swatch hop h${Math.min(ring.hops, 6)}`} /> {ring.hops}
              </td>
              <td>{ring.chips}</td>
              <td>{gibibytes(ring.memory)}</td>
              <td>{gigabytes(ring.delivery)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Sourced {
  definition: string;
  facts: SourceFact[];
}

/** The meaning and evidence of an answer. */
function Sources({ answer, method }: { answer: Sourced; method?: string }) {
  const facts = new Map(answer.facts.map((fact) => [`${fact.subject} ${fact.attribute}`, fact]));
  return (
    <details class="inner">
      <summary>
        Definition and sources
        {answer.facts.some(({ dispute }) => dispute) && <span class="mark"> {DISPUTED} sources disagree</span>}
      </summary>
      <p>{answer.definition}.</p>
      {method && <p>Method: {method}.</p>}
      <ul>
        {[...facts].map(([name, fact]) => (
          <li key={name}>
            {name.replaceAll("_", " ")}: <strong>{fact.value}</strong>, {fact.source.title}: {citation(fact)}
            {fact.note && <p class={fact.dispute ? "disputed" : "quiet"}>{fact.note}</p>}
          </li>
        ))}
      </ul>
    </details>
  );
}
