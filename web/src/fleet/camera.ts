// What part of a fleet the canvas shows: a scale in pixels a cell, and the cell in its corner.
import type { Grid } from "../overview";
import { numberIn } from "../route";

const CLOSENESS: [number, number] = [0.05, 64];

export class Camera {
  scale = 0;
  x = 0;
  y = 0;

  constructor(
    readonly element: HTMLCanvasElement,
    private readonly to: Grid,
  ) {}

  /** As the address of the view says; all of it in the middle where it does not. */
  show(options: Record<string, string>): void {
    const { clientWidth, clientHeight } = this.element;
    const { width, height } = this.to;
    const whole = Math.min(clientWidth / width, clientHeight / height);
    this.scale = numberIn(options.scale, CLOSENESS, whole);
    this.x = numberIn(options.x, [-width, 2 * width], (width - clientWidth / this.scale) / 2);
    this.y = numberIn(options.y, [-height, 2 * height], (height - clientHeight / this.scale) / 2);
  }

  /** As the address keeps it; the camera moves to where that is. */
  kept(): Record<"scale" | "x" | "y", string> {
    const kept = { scale: this.scale.toFixed(2), x: this.x.toFixed(1), y: this.y.toFixed(1) };
    this.show(kept);
    return kept;
  }

  zoom(factor: number, [px, py]: [number, number]): void {
    const scale = Math.max(CLOSENESS[0], Math.min(CLOSENESS[1], this.scale * factor));
    this.x += px / this.scale - px / scale;
    this.y += py / this.scale - py / scale;
    this.scale = scale;
    this.stay();
  }

  move(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.stay();
  }

  /** Some of the fleet stays in sight. */
  private stay(): void {
    const [width, height] = [this.element.clientWidth / this.scale, this.element.clientHeight / this.scale];
    this.x = Math.max(-0.8 * width, Math.min(this.to.width - 0.2 * width, this.x));
    this.y = Math.max(-0.8 * height, Math.min(this.to.height - 0.2 * height, this.y));
  }

  /** The cell below a pixel. */
  cell([px, py]: [number, number]): [number, number] {
    return [this.x + px / this.scale, this.y + py / this.scale];
  }

  /** Keep a cell in sight. */
  follow([x, y]: [number, number]): void {
    const [width, height] = [this.element.clientWidth / this.scale, this.element.clientHeight / this.scale];
    this.x = Math.min(Math.max(this.x, x + 2 - width), x - 1);
    this.y = Math.min(Math.max(this.y, y + 2 - height), y - 1);
  }
}
