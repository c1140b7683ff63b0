// What documents say of a rack and its trays: values, with their quotes and sources one click away.
import { attributeOf, citation, pluralize } from "../words";
import type { Rack } from "./documents";

export function Facts({ rack, switches }: { rack: Rack; switches: number }) {
  const facts = new Map([
    ...rack.facts.map((fact) => [attributeOf("rack", fact.attribute), fact] as const),
    ...rack.servers.nodes
      .flatMap((server) => server.facts.map((fact) => [attributeOf(server.model, fact.attribute), fact] as const))
      .filter(([name]) => /tray|rack/.test(name)),
  ]);
  const model = rack.servers.nodes[0]?.model ?? "";
  return (
    <details class="card documented">
      <summary>Documented: {pluralize(facts.size, "fact")}</summary>
      <dl class="figures">
        {[...facts].map(([name, fact]) => (
          <div key={name}>
            <dt>
              {name.replace(`${model} `, "")}
              <small>
                {fact.source.title}: {citation(fact)}
              </small>
            </dt>
            <dd>
              {fact.value}
              {fact.assumed && <span class="assumed"> assumed</span>}
            </dd>
          </div>
        ))}
      </dl>
      {switches > 0 && (
        <p class="quiet">This rack also holds {pluralize(switches, "switch")}. Their rack units are not documented.</p>
      )}
      <p class="quiet">The order of servers from bottom to top is assumed.</p>
    </details>
  );
}
