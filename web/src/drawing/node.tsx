// A chip or switch in the picture of a domain.

import type { Part, Place } from "./layout";
import { jobColors, type Letter } from "./letter";
import { fixed, Sign } from "./marks";

interface Props {
  part: Part;
  /** The letters of its job, instead of its number. */
  letter: Letter | undefined;
  place: Place;
  font: number;
  /** Its state as drawn, with the scenario applied. */
  state: string;
  classes: string;
  pressed: boolean;
  /** Whether it is the end To. */
  isTarget: boolean;
  tab: boolean;
  label: string;
  press: (event: MouseEvent) => void;
  open: () => void;
  type: (event: KeyboardEvent) => void;
  near: (address: string | undefined) => void;
}

export function Node({
  part,
  letter,
  place,
  font,
  state,
  classes,
  pressed,
  isTarget,
  tab,
  label,
  press,
  open,
  type,
  near,
}: Props) {
  const round = place.width === place.height;
  const upright = place.height > place.width;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a picture has no buttons
    <g
      class={`${part.kind} ${classes}`}
      role="button"
      aria-pressed={pressed}
      aria-label={label}
      tabindex={tab ? 0 : -1}
      data-at={part.address}
      style={{ ...(letter && jobColors(letter)), ...(place.depth !== undefined && { "--near": String(place.depth) }) }}
      onClick={press}
      onDblClick={open}
      onKeyDown={type}
      onFocus={() => near(part.address)}
      onPointerEnter={() => near(part.address)}
      onPointerLeave={() => near(undefined)}
    >
      <title>{`${part.address}, ${state}${part.why ? `: ${part.why}` : ""}`}</title>
      {round ? (
        <circle class="body" cx={fixed(place.x)} cy={fixed(place.y)} r={fixed(place.width / 2)} />
      ) : (
        <Rounded place={place} more={0} name="body" />
      )}
      {round ? (
        <circle class="ring" cx={fixed(place.x)} cy={fixed(place.y)} r={fixed(place.width / 2 + 4)} data-page="" />
      ) : (
        <Rounded place={place} more={3} name="ring" />
      )}
      {isTarget &&
        (round ? (
          <circle class="target" cx={fixed(place.x)} cy={fixed(place.y)} r={fixed(place.width / 2 + 4)} />
        ) : (
          <Rounded place={place} more={3} name="target" />
        ))}
      {round && (
        <circle class="near" cx={fixed(place.x)} cy={fixed(place.y)} r={fixed(place.width * 0.9)} data-page="" />
      )}
      <text
        x={fixed(place.x)}
        y={fixed(place.y + 0.35 * font)}
        transform={upright ? `rotate(-90 ${fixed(place.x)} ${fixed(place.y)})` : undefined}
      >
        {letter?.text ?? place.text}
      </text>
      {state !== "up" && <Sign position={place.sign} state={state} around={round || part.kind === "switch"} />}
    </g>
  );
}

function Rounded({ place, more, name }: { place: Place; more: number; name: string }) {
  const [wide, high] = [place.width + 2 * more, place.height + 2 * more];
  const size = { x: fixed(place.x - wide / 2), y: fixed(place.y - high / 2), width: fixed(wide), height: fixed(high) };
  return <rect class={name} {...size} rx={4 + more} {...(more ? { "data-page": "" } : {})} />;
}
