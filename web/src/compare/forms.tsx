// Forms of the Compare page: places to add, and the earlier time.
import { useRef } from "preact/hooks";
import { type Result, useQuery } from "../api";
import { Seed } from "../health";
import { Loading } from "../parts";
import { change } from "../route";
import { useKey } from "../shortcuts";
import { formatAsOf, isTime } from "../state";
import { MOST, placesOf, storedPlaces } from "./collection";
import { SUGGESTED } from "./documents";

export const comparePlaces = (places: string[]) => change({ of: places.join(",") || undefined });

/** A field for one more place, with suggestions. */
export function Add({ places }: { places: string[] }) {
  const field = useRef<HTMLInputElement>(null);
  const { data } = useQuery(SUGGESTED);
  useKey("c", () => field.current?.focus());
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const text = field.current?.value ?? "";
    if (text.trim()) comparePlaces(placesOf([...places, text].join(",")));
    if (field.current) field.current.value = "";
  };
  if (places.length >= MOST) return null;
  const { seeded, designs } = suggestionsOf(data);
  return (
    <form class="add" onSubmit={add}>
      <input
        ref={field}
        aria-label="Add"
        aria-keyshortcuts="C"
        list="places"
        placeholder="cluster, domain or system"
        required
        autocomplete="off"
        spellcheck={false}
      />
      <datalist id="places">
        {seeded
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
  );
}

/** Clusters and some of their domains, and documented systems without a cluster of their name. */
function suggestionsOf(data: Result<typeof SUGGESTED.document> | undefined) {
  const nodes = data?.clusters.nodes ?? [];
  const clusters = nodes.map(({ address }) => address);
  const seeded = nodes.flatMap(({ address, domains }) => [address, ...domains.nodes.map((domain) => domain.address)]);
  const designs = (data?.systems ?? []).map(({ slug }) => slug).filter((slug) => !clusters.includes(slug));
  return { clusters, seeded, designs };
}

/** What to compare, as buttons, until there are two places; and how to begin without any cluster. */
export function GetStarted({ places }: { places: string[] }) {
  const suggestions = useQuery(SUGGESTED);
  const before = places.length ? [] : storedPlaces();
  return (
    <>
      <section class="card" aria-label="Places to compare">
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
        <Loading result={suggestions}>
          {(data) => {
            const { clusters, designs } = suggestionsOf(data);
            const others = (all: string[]) => all.filter((place) => !places.includes(place));
            return (
              <>
                {clusters.length > 0 && (
                  <p class="tools">
                    <Buttons of={others(clusters).slice(0, 12)} places={places} />
                  </p>
                )}
                {others(designs).length > 0 && (
                  <p class="tools">
                    <span class="quiet">Design only, not seeded:</span>
                    <Buttons of={others(designs)} places={places} />
                  </p>
                )}
              </>
            );
          }}
        </Loading>
      </section>
      {suggestions.data?.clusters.nodes.length === 0 && <Seed />}
    </>
  );
}

const Buttons = ({ of: names, places }: { of: string[]; places: string[] }) => (
  <>
    {names.map((name) => (
      <button key={name} type="button" onClick={() => comparePlaces([...places, name])}>
        {name}
      </button>
    ))}
  </>
);

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
