// The clock: which time the page shows, whether it is current, and a form for another time.
import { useEffect, useRef, useState } from "preact/hooks";
import { lazyView } from "../lazy";
import { livenessOf, refresh, usePageTime } from "../live";
import { change, type Route } from "../route";
import { formatAsOf, formatTime } from "../state";
import { pluralize } from "../words";

const Bygone = lazyView(async () => (await import("./pastnotice")).PastNotice);
const HOUR = 3_600_000;

function useTick(): number {
  const [time, setTime] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setTime(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return time;
}

/** The clock; isDesign: no source has ever reported, so that nothing is live. */
export function Clock({ route, isDesign }: { route: Route; isDesign: boolean }) {
  const pageTime = usePageTime();
  const now = useTick();
  const how = livenessOf(pageTime);
  const box = useRef<HTMLDetailsElement>(null);
  const shut = () => {
    if (box.current) box.current.open = false;
  };
  useEffect(shut, [route.view, route.subject, pageTime.asof]);
  const text = {
    live: isDesign ? ["Design", "only"] : ["Now", `${formatTime(now)} UTC`],
    behind: ["Outdated", "data has changed"],
    gone: ["Offline", `${pageTime.reached ? `since ${formatTime(pageTime.reached)} UTC, ` : ""}retrying`],
    refused: ["No access", "token required"],
    past: ["As of", formatAsOf(pageTime.asof)],
  }[how];
  return (
    <details class={`clock ${how}`} ref={box} onKeyDown={(event) => event.key === "Escape" && shut()}>
      <summary
        aria-keyshortcuts="A"
        title={
          isDesign && how === "live"
            ? "No source has reported yet: this page shows the design, with the states that users recorded."
            : "The time of the inventory that this page shows. Fleet says what is observed."
        }
      >
        <span class="mark" aria-hidden="true" />
        <strong>{text[0]}</strong> <span class="when">{text[1]}</span>
      </summary>
      <AsOf asof={pageTime.asof} now={now} />
    </details>
  );
}

function AsOf({ asof, now }: { asof: string; now: number }) {
  const earlier = (by: number) => () => change({ asof: new Date(now - by).toISOString().replace(/\.\d+/, "") });
  const set = (event: SubmitEvent) => {
    event.preventDefault();
    const time = String(new FormData(event.target as HTMLFormElement).get("time"));
    if (time) change({ asof: `${time.length === 16 ? `${time}:00` : time}Z` });
  };
  return (
    <div class="pop">
      <form onSubmit={set}>
        <label>
          As of (UTC)
          <input type="datetime-local" name="time" step="1" required />
        </label>
        <button type="submit" class="main">
          Show
        </button>
      </form>
      <p class="row">
        <button type="button" onClick={earlier(HOUR)}>
          An hour ago
        </button>
        <button type="button" onClick={earlier(24 * HOUR)}>
          A day ago
        </button>
        {asof && (
          <button type="button" onClick={() => change({ asof: undefined })}>
            Now
          </button>
        )}
      </p>
    </div>
  );
}

/** A notice that data has changed, that the service is unreachable, or that the page shows an earlier time. */
export function Notice({ route }: { route: Route }) {
  const pageTime = usePageTime();
  const how = livenessOf(pageTime);
  return (
    <>
      {pageTime.asof && <Bygone asof={pageTime.asof} route={route} />}
      <div class="toasts" role="status">
        {how === "gone" && (
          <p class="toast">
            The service is not responding.
            {pageTime.reached && ` This page shows data from ${formatTime(pageTime.reached)} UTC.`}
          </p>
        )}
        {how === "behind" && (
          <p class="toast">
            {pluralize(pageTime.changed, "item")} changed
            <button type="button" onClick={refresh}>
              Show
            </button>
          </p>
        )}
      </div>
    </>
  );
}
