import uPlot from "uplot";
import type { Verdict } from "../data/outcome";
import type { ChartPoint, Measure } from "./measure";

const chartHeightPx = 220;
const markRadiusPx = 3.5;

interface Chart {
  points: readonly ChartPoint[];
  measure: Measure;
  /** Called with the point under the pointer; null: none. */
  onPoint: (point: ChartPoint | null) => void;
  onOpen: (point: ChartPoint) => void;
}

type MarkShape = "dot" | "cross" | "ring";

const verdictShapes: Partial<Record<Verdict, MarkShape>> = { passed: "dot", failed: "cross" };

/** Draws a chart into an element and resizes it with the element. Returns a function that removes it. */
export function drawChart(place: HTMLElement, chart: Chart): () => void {
  const { points, measure, onPoint, onOpen } = chart;
  const values = points.map((point) => point.value);
  const colour = colourResolver(place);
  let at: ChartPoint | null = null;
  const axis = { stroke: colour("--fg-muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const plot = new uPlot(
    {
      width: place.clientWidth || 400,
      height: chartHeightPx,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { setScale: false } },
      scales: { x: { time: false, range: [0.5, points.length + 0.5] }, y: chartValueScale(values) },
      axes: [
        { ...axis, size: 24, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] },
        {
          ...axis,
          size: 90,
          values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : measure.format(tick))),
        },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [(drawn) => drawChartPoints(drawn, points, colour)],
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
  const resized = new ResizeObserver(
    () => place.clientWidth > 0 && plot.setSize({ width: place.clientWidth, height: chartHeightPx }),
  );
  resized.observe(place);
  return () => {
    resized.disconnect();
    plot.destroy();
  };
}

/** Returns a scale from 0; a logarithmic one if the values differ by a factor of more than 100. */
function chartValueScale(values: readonly number[]): uPlot.Scale {
  const least = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  if (least > 0 && most / least > 100) return { distr: 3 };
  return { range: [0, most > 0 ? most * 1.08 : 1] };
}

function drawChartPoints(plot: uPlot, points: readonly ChartPoint[], colour: (token: string) => string): void {
  const { ctx } = plot;
  const scale = devicePixelRatio;
  const paint = { dot: colour("--good"), cross: colour("--bad"), ring: colour("--fg-muted") };
  ctx.save();
  ctx.lineWidth = 1.5 * scale;
  points.forEach(({ attempt, value }, index) => {
    const shape = verdictShapes[attempt.verdict] ?? "ring";
    const x = plot.valToPos(index + 1, "x", true);
    const y = plot.valToPos(value, "y", true);
    ctx.fillStyle = ctx.strokeStyle = paint[shape];
    drawShape(ctx, shape, x, y, markRadiusPx * scale);
  });
  ctx.restore();
}

function drawShape(ctx: CanvasRenderingContext2D, shape: MarkShape, x: number, y: number, r: number): void {
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

/**
 * Returns a function that resolves a CSS colour token for a canvas: only an element resolves light-
 * dark().
 */
function colourResolver(place: HTMLElement): (token: string) => string {
  return (token) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${token})`;
    place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}
