// A memory pool as rings: the place in the middle, and one ring per hop.
import { fixed } from "./marks";

export interface Ring {
  hops: number;
  chips: string[];
  description: string;
}

const STEP = 34;

export function Rings({ id, own, rings }: { id: string; own: string; rings: Ring[] }) {
  const radius = STEP * (rings.length + 1);
  return (
    <svg id={id} class="rings" viewBox={`${-radius} ${-radius} ${2 * radius} ${2 * radius}`} role="img">
      <title>{`Chips around ${own}: ${rings.map((ring) => ring.description).join("; ")}`}</title>
      {[...rings].reverse().map((ring, index) => (
        <circle
          key={ring.hops}
          class={`ring h${Math.min(ring.hops, 6)}`}
          r={STEP * (rings.length - index) + STEP / 2}
        />
      ))}
      {rings.map((ring, index) =>
        ring.chips.map((chip, number) => {
          const angle = (2 * Math.PI * number) / ring.chips.length - Math.PI / 2;
          const away = STEP * (index + 1);
          return (
            <circle key={chip} class="dot" cx={fixed(away * Math.cos(angle))} cy={fixed(away * Math.sin(angle))} r="4">
              <title>{`${chip}: ${ring.hops} hops`}</title>
            </circle>
          );
        }),
      )}
      <circle class="dot own" r="8">
        <title>{own}</title>
      </circle>
    </svg>
  );
}
