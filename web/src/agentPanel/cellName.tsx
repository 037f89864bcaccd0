import { type ComponentType, createContext, useContext } from "react";
import { oneLine } from "../text/displayText";
import styles from "./ToolCall.module.css";

/** How a cell is named in the conversation: where there is a notebook, by a link to it. */
export type CellName = ComponentType<{ id: string }>;

function PlainCellName({ id }: { id: string }) {
  return <code className={styles.cell}>{oneLine(id, 8)}</code>;
}

const CellNameContext = createContext<CellName>(PlainCellName);

/** Says how cells are named below; without it by the first characters of their id. */
export const CellNameProvider = CellNameContext.Provider;

export function useCellName(): CellName {
  return useContext(CellNameContext);
}
