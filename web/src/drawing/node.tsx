// A chip or switch in the picture of a domain.
import type { Part, Place } from "./layout";
import { fixed, Sign } from "./marks";

interface Props {
  part: Part;
  /** Instead of its number. */
  text: string | undefined;
  at: Place;
  font: number;
  /** As drawn: what is supposed down is. */
  state: string;
  classes: string;
  pressed: boolean;
  tab: boolean;
  says: string;
  press: (event: MouseEvent) => void;
  open: () => void;
  type: (event: KeyboardEvent) => void;
  near: (address: string | undefined) => void;
}

export function Node({ part, text, at, font, state, classes, pressed, tab, says, press, open, type, near }: Props) {
  const round = at.width === at.height;
  const upright = at.height > at.width;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a picture has no buttons
    <g
      class={`${part.kind} ${classes}`}
      role="button"
      aria-pressed={pressed}
      aria-label={says}
      tabindex={tab ? 0 : -1}
      data-at={part.address}
      style={at.depth === undefined ? undefined : `--near: ${at.depth.toFixed(2)}`}
      onClick={press}
      onDblClick={open}
      onKeyDown={type}
      onFocus={() => near(part.address)}
      onPointerEnter={() => near(part.address)}
      onPointerLeave={() => near(undefined)}
    >
      <title>{`${part.address}, ${state}${part.why ? `: ${part.why}` : ""}`}</title>
      {round ? (
        <circle class="body" cx={fixed(at.x)} cy={fixed(at.y)} r={fixed(at.width / 2)} />
      ) : (
        <Rounded at={at} more={0} name="body" />
      )}
      {round ? (
        <circle class="ring" cx={fixed(at.x)} cy={fixed(at.y)} r={fixed(at.width / 2 + 4)} data-page="" />
      ) : (
        <Rounded at={at} more={3} name="ring" />
      )}
      {round && <circle class="near" cx={fixed(at.x)} cy={fixed(at.y)} r={fixed(at.width * 0.9)} data-page="" />}
      <text
        x={fixed(at.x)}
        y={fixed(at.y + 0.35 * font)}
        transform={upright ? `rotate(-90 ${fixed(at.x)} ${fixed(at.y)})` : undefined}
      >
        {text ?? at.text}
      </text>
      {state !== "up" && <Sign at={at.sign} state={state} around={round || part.kind === "switch"} />}
    </g>
  );
}

function Rounded({ at, more, name }: { at: Place; more: number; name: string }) {
  const [wide, high] = [at.width + 2 * more, at.height + 2 * more];
  const size = { x: fixed(at.x - wide / 2), y: fixed(at.y - high / 2), width: fixed(wide), height: fixed(high) };
  return <rect class={name} {...size} rx={4 + more} {...(more ? { "data-page": "" } : {})} />;
}
