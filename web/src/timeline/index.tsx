// The timeline, whose code is fetched when it is first shown; its place is kept free until then.
import type { ComponentProps } from "preact";
import { lazyView } from "../lazy";
import type { Timeline as View } from "./timeline";

const Later = lazyView(async () => (await import("./timeline")).Timeline);

export function Timeline(props: ComponentProps<typeof View>) {
  return (
    <div class="timeline-space">
      <Later {...props} />
    </div>
  );
}
