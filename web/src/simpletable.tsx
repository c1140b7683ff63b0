// A table of a few columns: its frame, and rows that light up when what they tell changes.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A name, and how it is set: number, at the right; roomy, left out where there is no room. */
export type Column = readonly [name: string, set?: "number" | "roomy" | "number roomy"];

interface Props {
  name: string;
  columns: readonly Column[];
  /** Whether a row is chosen by a click. */
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

/** A row that lights up for a moment when it tells another thing than before, unless motion is to be reduced. */
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
