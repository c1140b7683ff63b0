// What a domain lost by the incident of a part, before → now.
import { makeQuery, useQuery } from "../api";
import { Metric } from "../domain/metric";
import { Loading } from "../parts";
import { relativeTo } from "../words";
import { LOSS } from "./documents";

export function DomainLoss({ scope, domain }: { scope: string; domain: string }) {
  const result = useQuery(makeQuery(LOSS, { scope, domain }));
  return (
    <div class="inner loss">
      <h3>Domain {relativeTo(domain.split("/")[0] ?? "", domain)}, before → now</h3>
      <Loading result={result}>
        {({ chips, incidents }) => {
          const loss = incidents.nodes[0]?.impact.domains.find((impact) => impact.domain === domain);
          const up = chips.aggregates.reduce((sum, { state, count }) => sum + (state === "up" ? count : 0), 0);
          const all = chips.aggregates.reduce((sum, { count }) => sum + count, 0);
          return (
            <dl class="figures">
              <Metric name="Chips up" before={loss ? all : undefined} now={up} />
              {loss && (
                <>
                  <Metric
                    name="All-gather limit, per chip"
                    before={loss.allGatherBefore.upper.gigabytesPerSecond}
                    now={loss.allGatherNow.upper.gigabytesPerSecond}
                    unit="GB/s"
                  />
                  <Metric
                    name="Memory pool"
                    before={loss.poolBefore.gibibytes}
                    now={loss.poolNow.gibibytes}
                    unit="GiB"
                  />
                </>
              )}
            </dl>
          );
        }}
      </Loading>
    </div>
  );
}
