// The parts that the scenario assumes down or degraded: remove, change, or set for real.
import { proposeState, useCanWrite } from "../change/proposal";
import { change } from "../route";
import { relativeTo } from "../words";
import { isChanged, type Scenario, setFactor } from "./scenario";

const PARTS = [0.75, 0.5, 0.25];
const percent = (part: number) => `${Number((100 * part).toPrecision(3))} %`;

export function WhatIf({ domain, scenario }: { domain: string; scenario: Scenario }) {
  if (!isChanged(scenario)) return null;
  const all = [...scenario.down.map((address) => ({ address, factor: 0 })), ...scenario.derate];
  return (
    <section class="whatif" aria-label="What if">
      <h2>What if</h2>
      <ul>
        {all.map(({ address, factor }) => (
          <Piece key={address} domain={domain} scenario={scenario} address={address} factor={factor} />
        ))}
      </ul>
      <p>Nothing is saved. Numbers show now → what if.</p>
      <div class="acts">
        <ApplyButtons scenario={scenario} />
        <button type="button" class="ghost" onClick={() => change({ down: undefined, derate: undefined })}>
          Clear
        </button>
      </div>
    </section>
  );
}

interface Props {
  domain: string;
  scenario: Scenario;
  address: string;
  factor: number;
}

function Piece({ domain, scenario, address, factor }: Props) {
  const name = relativeTo(domain, address);
  const parts = PARTS.includes(factor) || !factor ? PARTS : [factor, ...PARTS];
  return (
    <li class={factor ? "degraded" : "down"}>
      <button
        type="button"
        class="plain"
        aria-label={`Restore ${name}`}
        title="Restore"
        onClick={() => setFactor(domain, scenario, address, 1)}
      >
        <span aria-hidden="true">↺</span>
      </button>
      <label>
        {name.replace("--", " – ")}{" "}
        <select
          aria-label={`State of ${name.replace("--", " – ")} in this scenario`}
          value={String(factor)}
          onChange={(event) => setFactor(domain, scenario, address, Number(event.currentTarget.value))}
        >
          <option value="0">down</option>
          {parts.map((part) => (
            <option key={part} value={String(part)}>
              at {percent(part)}
            </option>
          ))}
        </select>
        <span class="paper">{factor ? `at ${percent(factor)}` : "down"}</span>
      </label>
    </li>
  );
}

/** Chips, servers, switches, NICs and links can be set; a domain or a core cannot. */
const settable = (address: string) => !/\/(d\d+|nc\d+)$/.test(address);

function ApplyButtons({ scenario: { down, derate } }: { scenario: Scenario }) {
  const may = useCanWrite();
  const factors = [...new Set(derate.map(({ factor }) => factor))];
  const groups = [
    { state: "down" as const, factor: undefined, places: down },
    ...factors.map((factor) => ({
      state: "degraded" as const,
      factor,
      places: derate.filter((item) => item.factor === factor).map(({ address }) => address),
    })),
  ]
    .map((group) => ({ ...group, places: group.places.filter(settable) }))
    .filter(({ places }) => places.length > 0);
  if (!may) return null;
  return (
    <>
      {groups.map((group) => (
        <button key={group.factor} type="button" data-writes aria-haspopup="dialog" onClick={() => proposeState(group)}>
          Apply{groups.length > 1 && ` ${group.factor ? `at ${percent(group.factor)}` : "down"}`}…
        </button>
      ))}
    </>
  );
}
