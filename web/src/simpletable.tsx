// A table of a few columns, whose rows light up when their values change.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A column's name and style; number: right-aligned; roomy: hidden on phones; wider, widest: only in wide windows. */
export type Column = readonly [
  name: string,
  set?: "number" | "roomy" | "number roomy" | "number roomy wider" | "roomy wider" | "roomy widest",
];

interface Props {
  name: string;
  columns: readonly Column[];
  /** Whether a row can be selected by a click. */
  isPick?: boolean;
  children: ComponentChildren;
}

export function SimpleTable({ name, columns, isPick, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="scroll" aria-label={name} tabIndex={0}>
      <table class={isPick ? "full pick" : "full"}>
        <thead>
          <tr>
            {columns.map(([column, set]) => (
              <th key={column} scope="col" class={set}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

const FLASH = 600;

/** A row that lights up briefly when its values change, unless the user prefers reduced motion. */
export function Row({
  content,
  isSelected,
  children,
}: {
  content: string;
  isSelected?: boolean;
  children: ComponentChildren;
}) {
  const row = useRef<HTMLTableRowElement>(null);
  const previous = useRef(content);
  useEffect(() => {
    if (content === previous.current) return;
    previous.current = content;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    row.current?.animate([{ backgroundColor: "var(--degraded-soft)" }, {}], FLASH);
  }, [content]);
  return (
    <tr ref={row} class={isSelected ? "chosen" : undefined}>
      {children}
    </tr>
  );
}
