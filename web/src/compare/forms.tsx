// What is compared: places to add, and the earlier time.
import { useRef } from "preact/hooks";
import { useAsked } from "../api";
import { Shown } from "../parts";
import { usePressed } from "../pressed";
import { change } from "../route";
import { isTime, moments } from "../state";
import { gathered, MOST, placesOf } from "./collect";
import { SUGGESTED } from "./documents";

export const compare = (of: string[]) => change({ of: of.join(",") || undefined });

/** A field for one more place, with what there is; buttons while nothing is compared. */
export function Add({ of }: { of: string[] }) {
  const field = useRef<HTMLInputElement>(null);
  const known = useAsked(SUGGESTED);
  usePressed("c", () => field.current?.focus());
  const before = of.length ? [] : gathered();
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const text = field.current?.value ?? "";
    if (text.trim()) compare(placesOf([...of, text].join(",")));
    if (field.current) field.current.value = "";
  };
  return (
    <Shown of={known}>
      {({ clusters: { nodes }, systems }) => {
        const all = nodes.flatMap(({ address, domains }) => [address, ...domains.nodes.map((each) => each.address)]);
        const clusters = nodes.map(({ address }) => address);
        const designs = systems
          .map(({ slug }) => slug)
          .filter((slug) => !clusters.includes(slug) && !of.includes(slug));
        return (
          <>
            {of.length < MOST && (
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
                    .filter((each) => !of.includes(each))
                    .map((each) => (
                      <option key={each} value={each} />
                    ))}
                  {designs.map((each) => (
                    <option key={each} value={each} label={`${each}: design only, not seeded`} />
                  ))}
                </datalist>
                <button type="submit">Add</button>
              </form>
            )}
            {of.length < 2 && (
              <section class="card" aria-label="Get started">
                <p>
                  {of.length
                    ? "Add a second place to compare."
                    : "Choose two to four clusters, domains or documented systems."}
                </p>
                {before.length > 0 && (
                  <p>
                    <button type="button" class="main" onClick={() => compare(before)}>
                      Compare {before.join(", ")}
                    </button>
                  </p>
                )}
                <p class="tools">
                  {clusters
                    .filter((each) => !of.includes(each))
                    .slice(0, 12)
                    .map((each) => (
                      <button key={each} type="button" onClick={() => compare([...of, each])}>
                        {each}
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
                    {designs.map((each) => (
                      <button key={each} type="button" onClick={() => compare([...of, each])}>
                        {each}
                      </button>
                    ))}
                  </p>
                )}
              </section>
            )}
          </>
        );
      }}
    </Shown>
  );
}

export function Earlier({ time }: { time: string }) {
  const set = (event: SubmitEvent) => {
    event.preventDefault();
    const given = String(new FormData(event.target as HTMLFormElement).get("since"));
    if (given) change({ since: `${given.length === 16 ? `${given}:00` : given}Z` });
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
      <span class="quiet">{moments(time)} → now</span>
    </form>
  );
}
