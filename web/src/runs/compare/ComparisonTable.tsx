import { useMemo } from "react";
import type { AttemptLine } from "../../protocol/api.gen";
import styles from "./Compare.module.css";
import { comparedFiguresOf } from "./figures";

/** A table of the figures of two attempts, such as score and cost, and their differences. */
export function ComparisonTable({ a, b }: { a: AttemptLine; b: AttemptLine }) {
  const figures = useMemo(() => comparedFiguresOf(a, b), [a, b]);
  return (
    <div className={styles.scroller}>
      <table className={styles.figures}>
        <caption className="visually-hidden">Figures of both attempts</caption>
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Figure</span>
            </th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">B against A</th>
          </tr>
        </thead>
        <tbody>
          {figures.map((figure) => (
            <tr key={figure.name} className={figure.differs ? styles.differs : ""}>
              <th scope="row">{figure.name}</th>
              <td>{figure.a}</td>
              <td>{figure.b}</td>
              <td>{figure.difference || (figure.differs ? "different" : "")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
