// The state of a part in one band: the reason, who set it and when, what follows from it, and what can be done.
import type { ComponentChildren } from "preact";
import { Unapplied } from "../incidents/unapplied";
import { useAsOf } from "../live";
import { Actions } from "../panel/actions";
import type { PanelPart, PartEvent } from "../panel/documents";
import { Reason } from "../parts";
import { href } from "../route";
import { formatDateTime, formatDuration, Glyph, shownTime, stateWord } from "../state";
import { number } from "../words";
import { Hits } from "./hits";

interface Props {
  part: Pick<PanelPart, "address" | "state" | "__typename"> & { factor: number | null };
  last: PartEvent | null;
  domain: string;
  incident: string | undefined;
  /** High findings of drift that no incident shows. */
  unapplied: number;
  /** The server whose change took this part with it. */
  server?: string;
  /** The jobs whose chips it hits. */
  jobs: string[];
  /** What is lost by it. */
  lost: string;
  /** What follows from it, as a sentence. */
  children?: ComponentChildren;
}

export function Band({ part, last, domain, incident, unapplied, server, jobs, lost, children }: Props) {
  const { asof } = useAsOf();
  const { state, factor } = part;
  const before = last && new Date(Date.parse(last.at) - 1000).toISOString();
  const word = `${stateWord(state)}${factor === null ? "" : ` at ${number(100 * factor)} %`}`;
  return (
    <section class={`card flush part-band ${state}`} aria-label="State">
      <Glyph state={state} />
      <div class="said">
        <strong>
          <Reason text={state === "up" ? "Up" : (last?.why ?? "No reason given")} />
        </strong>
        <span>
          {last && <SetBy last={last} word={word} server={last.cascaded ? server : undefined} />}
          {last && `, ${formatDuration(last.at, shownTime(asof))} ago. `}
          {state === "up" && last && `Reason: ${last.why}. `}
          {!last && state === "up" && "No change since this cluster was made. "}
          {children}
        </span>
        <Unapplied count={unapplied} scope={part.address} />
        {state !== "up" && (
          <span class="hits">
            <Hits jobs={jobs} />
            {lost && (
              <span>
                <b>Lost</b> {lost}
              </span>
            )}
            {incident && <a href={href("incidents", "", { sel: incident })}>Incident {incident}</a>}
          </span>
        )}
      </div>
      <div class="acts">
        <Actions part={part} domain={domain} />
        {state !== "up" && before && (
          <a class="button" href={href("at", part.address, { asof: before })}>
            View before
          </a>
        )}
      </div>
    </section>
  );
}

function SetBy({ last, word, server }: { last: PartEvent; word: string; server: string | undefined }) {
  const when = formatDateTime(last.at).replace(/:\d\d UTC$/, " UTC");
  const at = <span class="nowrap">{when}</span>;
  if (!server)
    return (
      <>
        {`Set ${word.replace("in ", "")} by ${last.who} at `}
        {at}
      </>
    );
  return (
    <>
      <a href={href("at", server)}>Server {server.split("/").at(-1)}</a>
      {` was set ${word.replace("in ", "")} by ${last.who} at `}
      {at}
    </>
  );
}
