import uPlot from "uplot";
import type { Verdict } from "../data/outcome";
import type { Measure, Point } from "./measure";

const height = 220;
const radius = 3.5;

interface Chart {
  points: readonly Point[];
  measure: Measure;
  /** The pointer is over a point, or over none. */
  onPoint: (point: Point | null) => void;
  onOpen: (point: Point) => void;
}

type Shape = "dot" | "cross" | "ring";

const shapes: Partial<Record<Verdict, Shape>> = { passed: "dot", failed: "cross" };

/** Draws a chart into an element, and keeps it as wide as that; what it returns takes it away. */
export function drawChart(place: HTMLElement, chart: Chart): () => void {
  const { points, measure, onPoint, onOpen } = chart;
  const values = points.map((point) => point.value);
  const colour = colours(place);
  let at: Point | null = null;
  const axis = { stroke: colour("--fg-muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const plot = new uPlot(
    {
      width: place.clientWidth || 400,
      height,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { setScale: false } },
      scales: { x: { time: false, range: [0.5, points.length + 0.5] }, y: scaleOf(values) },
      axes: [
        { ...axis, size: 24, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] },
        {
          ...axis,
          size: 90,
          values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : measure.words(tick))),
        },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [(drawn) => drawPoints(drawn, points, colour)],
        setCursor: [
          (drawn) => {
            const { idx, left } = drawn.cursor;
            at = (typeof idx === "number" && (left ?? -1) >= 0 && points[idx]) || null;
            onPoint(at);
          },
        ],
      },
    },
    [points.map((_, index) => index + 1), values],
    place,
  );
  plot.over.addEventListener("click", () => at && onOpen(at));
  const resized = new ResizeObserver(() => place.clientWidth > 0 && plot.setSize({ width: place.clientWidth, height }));
  resized.observe(place);
  return () => {
    resized.disconnect();
    plot.destroy();
  };
}

/** From 0 on; by powers of ten where values differ by more than a hundred times. */
function scaleOf(values: readonly number[]): uPlot.Scale {
  const least = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  if (least > 0 && most / least > 100) return { distr: 3 };
  return { range: [0, most > 0 ? most * 1.08 : 1] };
}

function drawPoints(plot: uPlot, points: readonly Point[], colour: (token: string) => string): void {
  const { ctx } = plot;
  const scale = devicePixelRatio;
  const paint = { dot: colour("--good"), cross: colour("--bad"), ring: colour("--fg-muted") };
  ctx.save();
  ctx.lineWidth = 1.5 * scale;
  points.forEach(({ attempt, value }, index) => {
    const shape = shapes[attempt.verdict] ?? "ring";
    const x = plot.valToPos(index + 1, "x", true);
    const y = plot.valToPos(value, "y", true);
    ctx.fillStyle = ctx.strokeStyle = paint[shape];
    drawShape(ctx, shape, x, y, radius * scale);
  });
  ctx.restore();
}

function drawShape(ctx: CanvasRenderingContext2D, shape: Shape, x: number, y: number, r: number): void {
  ctx.beginPath();
  if (shape === "cross") {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
  } else {
    ctx.arc(x, y, r, 0, 2 * Math.PI);
  }
  if (shape === "dot") ctx.fill();
  else ctx.stroke();
}

/** What a token's colour is now, as a canvas takes it: light-dark() only an element resolves. */
function colours(place: HTMLElement): (token: string) => string {
  return (token) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${token})`;
    place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}
