// Results that stand below what is in view.
import { useEffect, useRef } from "preact/hooks";

/** Scroll to an element once what was asked in it is found, unless it is in view. */
export function useInView(isFound: boolean, asked: string) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isFound && (box.current?.getBoundingClientRect().top ?? 0) > 0.8 * innerHeight) box.current?.scrollIntoView();
  }, [isFound, asked]);
  return box;
}
