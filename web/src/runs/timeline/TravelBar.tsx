import ChevronLeft from "lucide-react/icons/chevron-left";
import ChevronRight from "lucide-react/icons/chevron-right";
import Pause from "lucide-react/icons/pause";
import Play from "lucide-react/icons/play";
import Radio from "lucide-react/icons/radio";
import { type KeyboardEvent, useState } from "react";
import { formatAttemptTime } from "../../format/format";
import { Button, IconButton } from "../../ui/Button";
import { MarkLanes } from "./MarkLanes";
import { lanes } from "./mark";
import { type Speed, speeds } from "./moment";
import { stepWords } from "./stepWords";
import styles from "./TravelBar.module.css";
import type { Travel } from "./travel";
import { useMoment } from "./useTravel";

/** The slider over a trace, what happened where it is, and what plays it. */
export function TravelBar({ travel }: { travel: Travel }) {
  const moment = useMoment(travel);
  const { seq, end, mode, ms, entry, marks, busy } = moment;
  const words = entry === null ? "" : stepWords(entry, travel.store.get());
  const said = `${seq} of ${end}, ${formatAttemptTime(ms)}${words === "" ? "" : `, ${words}`}`;
  return (
    <section className={styles.bar} aria-label="Time">
      <div className={styles.controls}>
        <IconButton label="One step back" onClick={() => travel.step(-1)} disabled={seq <= 1}>
          <ChevronLeft />
        </IconButton>
        <PlayButton travel={travel} playing={mode === "playing"} />
        <IconButton label="One step on" onClick={() => travel.step(1)} disabled={seq >= end}>
          <ChevronRight />
        </IconButton>
        {travel.source.watch !== null && !moment.complete && (
          <Button
            variant={mode === "live" ? "accent" : "plain"}
            aria-pressed={mode === "live"}
            onClick={() => (mode === "live" ? travel.pause() : travel.follow())}
          >
            <Radio aria-hidden="true" size={14} /> Live
          </Button>
        )}
      </div>
      <div className={styles.track}>
        <MarkLanes marks={marks} end={end} />
        <input
          type="range"
          min={1}
          max={Math.max(1, end)}
          value={Math.max(1, seq)}
          disabled={end === 0}
          aria-label="Moment of the attempt"
          aria-valuetext={said}
          onChange={(event) => travel.goTo(Number(event.target.value))}
          onKeyDown={(event) => onKeyDown(event, travel)}
        />
      </div>
      <p className={styles.words}>
        <span className={styles.time}>{formatAttemptTime(ms)}</span>
        <span className={styles.place}>{`entry ${seq} of ${end}`}</span>
        <span className={busy ? styles.busy : ""}>{words}</span>
        <span className={styles.key} aria-hidden="true">
          {lanes.map((lane) => (
            <span key={lane} className={styles[lane]}>
              ▌{lane}
            </span>
          ))}
        </span>
      </p>
      {moment.heldByConsole && (
        <p className={styles.note}>A console held the notebook. Its cells are as far as the trace tells.</p>
      )}
      {moment.problem !== null && (
        <p className={styles.problem} role="alert">
          {moment.problem}
        </p>
      )}
    </section>
  );
}

function PlayButton({ travel, playing }: { travel: Travel; playing: boolean }) {
  const [speed, setSpeed] = useState<Speed>(1);
  const onSpeed = (next: Speed) => {
    setSpeed(next);
    if (playing) travel.play(next);
  };
  return (
    <>
      <IconButton label={playing ? "Pause" : "Play"} onClick={() => (playing ? travel.pause() : travel.play(speed))}>
        {playing ? <Pause /> : <Play />}
      </IconButton>
      <select
        aria-label="Speed"
        className={styles.speed}
        value={speed}
        onChange={(event) => onSpeed(speeds.find((one) => one === Number(event.target.value)) ?? 1)}
      >
        {speeds.map((one) => (
          <option key={one} value={one}>{`×${one}`}</option>
        ))}
      </select>
    </>
  );
}

/** The arrows go from one thing of note to the next, with shift ten on. */
function onKeyDown(event: KeyboardEvent, travel: Travel): void {
  const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (by !== undefined) travel.step(event.shiftKey ? by * 10 : by);
  else if (event.key === "Home") travel.goTo(1);
  else if (event.key === "End") travel.goTo("end");
  else return;
  event.preventDefault();
}
