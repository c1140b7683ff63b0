// The tiers of the fabric above the domains.
import { DownloadSvg, svgOf } from "../parts";
import { Picture } from "../picture";

export function Fabric({ cluster }: { cluster: string }) {
  return (
    <section class="card" aria-label="Fabric tiers">
      <h2>EFA fabric above the domains</h2>
      <div class="tools">
        <DownloadSvg name={`${cluster}-fabric`} picture={svgOf("fabric")} />
      </div>
      <Picture name="fabric" options={{ scope: cluster }} />
    </section>
  );
}
