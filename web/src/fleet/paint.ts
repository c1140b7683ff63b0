// Draws what the camera shows: the picture scaled, names of domains when they are large enough, the chosen chip.
import { cellOf, type Grid, type Overview } from "../overview";
import type { Camera } from "./camera";

const NAMED_FROM = 5;

export function paint(camera: Camera, picture: HTMLCanvasElement, overview: Overview, to: Grid, chip: number): void {
  const { element, scale, x, y } = camera;
  const context = element.getContext("2d") as CanvasRenderingContext2D;
  const ratio = devicePixelRatio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, element.width, element.height);
  context.setTransform(ratio * scale, 0, 0, ratio * scale, -x * ratio * scale, -y * ratio * scale);
  context.imageSmoothingEnabled = scale < 1;
  context.drawImage(picture, 0, 0);
  context.fillStyle = getComputedStyle(element).color;
  context.strokeStyle = context.fillStyle;
  if (scale > NAMED_FROM) name(context, camera, overview, to);
  if (chip >= 0) {
    const [cx, cy] = cellOf(overview, to, chip);
    context.lineWidth = 2 / scale;
    context.strokeRect(cx - 1 / scale, cy - 1 / scale, 1 + 2 / scale, 1 + 2 / scale);
  }
}

function name(context: CanvasRenderingContext2D, { element, scale, x, y }: Camera, of: Overview, to: Grid): void {
  const tile = to.side + 1;
  const [right, bottom] = [x + element.clientWidth / scale, y + element.clientHeight / scale];
  const rows = Math.ceil(of.domains / to.columns);
  context.font = `${Math.min(1, 11 / scale)}px sans-serif`;
  for (let row = Math.max(0, Math.floor(y / tile)); row < rows && row * tile < bottom; row++) {
    for (let column = Math.max(0, Math.floor(x / tile)); column < to.columns && column * tile < right; column++) {
      const domain = row * to.columns + column;
      if (domain < of.domains) context.fillText(`d${domain}`, column * tile + 1, row * tile + 0.9);
    }
  }
}
