// Forms of the Compare page: places to add, and the earlier time.
import { useRef } from "preact/hooks";
import { useQuery } from "../api";
import { Loading } from "../parts";
import { change } from "../route";
import { useKey } from "../shortcuts";
import { formatAsOf, isTime } from "../state";
import { MOST, placesOf, storedPlaces } from "./collection";
import { SUGGESTED } from "./documents";

export const comparePlaces = (places: string[]) => change({ of: places.join(",") || undefined });

/** A field for one more place, with suggestions; buttons while the page is empty. */
export function Add({ places }: { places: string[] }) {
  const field = useRef<HTMLInputElement>(null);
  const suggestions = useQuery(SUGGESTED);
  useKey("c", () => field.current?.focus());
  const before = places.length ? [] : storedPlaces();
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const text = field.current?.value ?? "";
    if (text.trim()) comparePlaces(placesOf([...places, text].join(",")));
    if (field.current) field.current.value = "";
  };
  return (
    <Loading result={suggestions}>
      {({ clusters: { nodes }, systems }) => {
        const all = nodes.flatMap(({ address, domains }) => [
          address,
          ...domains.nodes.map((domain) => domain.address),
        ]);
        const clusters = nodes.map(({ address }) => address);
        const designs = systems
          .map(({ slug }) => slug)
          .filter((slug) => !clusters.includes(slug) && !places.includes(slug));
        return (
          <>
            {places.length < MOST && (
              <form class="ends" onSubmit={add}>
                <label>
                  Add{" "}
                  <input
                    ref={field}
                    aria-keyshortcuts="C"
                    list="places"
                    placeholder="cluster, domain or system"
                    required
                    autocomplete="off"
                    spellcheck={false}
                  />
                </label>
                <datalist id="places">
                  {all
                    .filter((place) => !places.includes(place))
                    .map((place) => (
                      <option key={place} value={place} />
                    ))}
                  {designs.map((design) => (
                    <option key={design} value={design} label={`${design}: design only, not seeded`} />
                  ))}
                </datalist>
                <button type="submit">Add</button>
              </form>
            )}
            {places.length < 2 && (
              <section class="card" aria-label="Get started">
                <p>
                  {places.length
                    ? "Add a second place to compare."
                    : "Choose two to four clusters, domains or documented systems."}
                </p>
                {before.length > 0 && (
                  <p>
                    <button type="button" class="main" onClick={() => comparePlaces(before)}>
                      Compare {before.join(", ")}
                    </button>
                  </p>
                )}
                <p class="tools">
                  {clusters
                    .filter((cluster) => !places.includes(cluster))
                    .slice(0, 12)
                    .map((cluster) => (
                      <button key={cluster} type="button" onClick={() => comparePlaces([...places, cluster])}>
                        {cluster}
                      </button>
                    ))}
                  {!clusters.length && (
                    <span>
                      Nothing is seeded yet. Run <code>trninv seed</code> to create all small systems.
                    </span>
                  )}
                </p>
                {designs.length > 0 && (
                  <p class="tools">
                    <span class="quiet">Design only, not seeded:</span>
                    {designs.map((design) => (
                      <button key={design} type="button" onClick={() => comparePlaces([...places, design])}>
                        {design}
                      </button>
                    ))}
                  </p>
                )}
              </section>
            )}
          </>
        );
      }}
    </Loading>
  );
}

export function Earlier({ time }: { time: string }) {
  const set = (event: SubmitEvent) => {
    event.preventDefault();
    const time = String(new FormData(event.target as HTMLFormElement).get("since"));
    if (time) change({ since: `${time.length === 16 ? `${time}:00` : time}Z` });
  };
  return (
    <form class="ends" onSubmit={set}>
      <label>
        Earlier (UTC){" "}
        <input
          type="datetime-local"
          name="since"
          step="1"
          required
          key={time}
          defaultValue={isTime(time) ? new Date(time).toISOString().slice(0, 19) : ""}
        />
      </label>
      <button type="submit">Show</button>
      <span class="quiet">{formatAsOf(time)} → now</span>
    </form>
  );
}
