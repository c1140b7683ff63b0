// Save pictures as files, with the page's colors written into them.
export function saveFile(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "paint-order",
];

/** Return an SVG element as a document that looks the same outside the page. */
export function standaloneSvg(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = svg.querySelectorAll<SVGElement>("*");
  const copies = copy.querySelectorAll<SVGElement>("*");
  originals.forEach((original, index) => {
    const target = copies[index] as SVGElement;
    const style = getComputedStyle(original);
    for (const name of KEPT) target.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex", "role", "aria-label", "data-at", "aria-pressed"])
      target.removeAttribute(name);
  });
  for (const hidden of copy.querySelectorAll("[data-page]")) hidden.remove();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.removeAttribute("class");
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const [x, y, width, height] = (copy.getAttribute("viewBox") ?? "0 0 1 1").split(" ");
  for (const [name, value] of Object.entries({ x, y, width, height })) paper.setAttribute(name, value ?? "0");
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  return `${new XMLSerializer().serializeToString(copy)}\n`;
}
