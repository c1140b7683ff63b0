// What a domain lost by the incident of a part, before → now.
import { makeQuery, useQuery } from "../api";
import { Metric } from "../domain/metric";
import { Loading } from "../parts";
import { relativeTo } from "../words";
import { LOSS } from "./documents";

const isWorking = (state: unknown) => state === "up" || state === "degraded";

export function DomainLoss({ scope, domain }: { scope: string; domain: string }) {
  const result = useQuery(makeQuery(LOSS, { scope, domain }));
  return (
    <div class="inner loss">
      <h3>Domain {relativeTo(domain.split("/")[0] ?? "", domain)}, before → now</h3>
      <Loading result={result}>
        {({ chips, incidents }) => {
          const loss = incidents.nodes[0]?.impact.domains.find((impact) => impact.domain === domain);
          const working = chips.aggregates.reduce((sum, { state, count }) => sum + (isWorking(state) ? count : 0), 0);
          return (
            <dl class="figures">
              <Metric name="Working chips" before={loss?.chipsBefore} now={loss?.chipsNow ?? working} />
              {loss && (
                <>
                  <Metric
                    name="All-gather limit"
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
