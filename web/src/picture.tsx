// A picture that the service draws: links in it follow the page's time, and arrow keys lead from one to the next.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { download, useLoaded } from "./api";
import { arrowOf, nearest } from "./drawing/neighbors";
import { useAsOf } from "./live";
import { Loading } from "./parts";
import { href } from "./route";
import "./style/picture.css";

/** Pixels to which the width of a picture is rounded, so that the service's copies can be used again. */
const STEP = 8;
/** How long after the last change of its width a picture is drawn again, in milliseconds. */
const REST = 150;

interface Props {
  name: string;
  /** Parameters of the route; undefined ones are omitted. */
  options: Record<string, string | number | undefined>;
  id?: string;
  /** The page's heading if the picture cannot be shown. */
  page?: string;
  /** A time other than the page's; empty: now. */
  at?: string;
  /** Called with each new picture, and whenever the function changes. */
  onDrawn?: (svg: SVGSVGElement) => void;
}

export function Picture({ name, options, id = name, page, at, onDrawn }: Props) {
  const { box, width } = useWidth();
  const entries = Object.entries({ ...options, width }).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(entries.map(([key, value]) => [key, String(value)]));
  const path = width === undefined ? null : `pictures/${name}?${query}`;
  const result = useLoaded(path, async (signal) => new TextDecoder().decode(await download(path ?? "", signal, at)));
  return (
    <div class="drawn" ref={box} aria-busy={width === undefined}>
      <Loading result={result} {...(page !== undefined && { page })}>
        {(text) => <Inlined text={text} id={id} onDrawn={onDrawn} />}
      </Loading>
    </div>
  );
}

/** Track the width of an element in steps, once it is known. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState<number>();
  useEffect(() => {
    if (!box.current) return;
    let timer = 0;
    const watch = new ResizeObserver(([entry]) => {
      const measured = Math.max(240, Math.floor((entry?.contentRect.width ?? 0) / STEP) * STEP);
      clearTimeout(timer);
      timer = window.setTimeout(() => setWidth(measured), width === undefined ? 0 : REST);
    });
    watch.observe(box.current);
    return () => {
      clearTimeout(timer);
      watch.disconnect();
    };
  }, [width === undefined]);
  return { box, width };
}

interface InlinedProps {
  text: string;
  id: string;
  onDrawn: ((svg: SVGSVGElement) => void) | undefined;
}

function Inlined({ text, id, onDrawn }: InlinedProps) {
  const box = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState<SVGSVGElement>();
  const { asof } = useAsOf();
  useLayoutEffect(() => {
    const focused = box.current?.contains(document.activeElement) && document.activeElement?.getAttribute("href");
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const svg = document.importNode(parsed as unknown as SVGSVGElement, true);
    svg.id = id;
    const links = [...svg.querySelectorAll("a")];
    for (const link of links) link.setAttribute("href", atPageTime(link.getAttribute("href") ?? ""));
    const same = links.find((link) => link.getAttribute("href") === focused);
    for (const link of links) link.setAttribute("tabindex", link === (same ?? links[0]) ? "0" : "-1");
    svg.onkeydown = (event) => press(event, links);
    box.current?.replaceChildren(svg);
    same?.focus();
    setDrawn(svg);
  }, [text, id, asof]);
  useLayoutEffect(() => {
    if (drawn) onDrawn?.(drawn);
  }, [drawn, onDrawn]);
  return <div ref={box} />;
}

/** Go to the next link in the direction of an arrow key. */
function press(event: KeyboardEvent, links: HTMLAnchorElement[]): void {
  const way = arrowOf(event);
  if (!way) return;
  event.preventDefault();
  const places = links.map((link) => {
    const { x, y, width, height } = link.getBoundingClientRect();
    return { link, x: x + width / 2, y: y + height / 2 };
  });
  const from = places.find(({ link }) => link === (event.target as Element).closest("a"));
  const to = nearest(places, from, way);
  for (const link of links) link.setAttribute("tabindex", link === to?.link ? "0" : "-1");
  to?.link.focus();
}

/** An address of a page that has none of its own time, at the time that the page shows. */
function atPageTime(address: string): string {
  const [path = "", query = ""] = address.replace(/^#\//, "").split("?", 2);
  const [view = "", ...subject] = path.split("/");
  return href(view || "home", subject.join("/"), Object.fromEntries(new URLSearchParams(query)));
}
