import ChevronLeft from "lucide-react/icons/chevron-left";
import ChevronRight from "lucide-react/icons/chevron-right";
import Pause from "lucide-react/icons/pause";
import Play from "lucide-react/icons/play";
import Radio from "lucide-react/icons/radio";
import { type KeyboardEvent, useState } from "react";
import { formatAttemptTime } from "../../format/format";
import { Button, IconButton } from "../../ui/Button";
import { describeEntry } from "./describeEntry";
import { MarkLanes } from "./MarkLanes";
import { markLanes } from "./mark";
import styles from "./TimelineBar.module.css";
import type { Timeline } from "./timeline";
import { type PlaybackSpeed, playbackSpeeds } from "./timelineState";
import { useTimelineState } from "./useTimeline";

/** The timeline's slider, the description of the current entry, and the playback controls. */
export function TimelineBar({ timeline }: { timeline: Timeline }) {
  const moment = useTimelineState(timeline);
  const { seq, end, mode, ms, entry, marks, isLoading } = moment;
  const words = entry === null ? "" : describeEntry(entry, timeline.store.get());
  const said = `${seq} of ${end}, ${formatAttemptTime(ms)}${words === "" ? "" : `, ${words}`}`;
  return (
    <section className={styles.bar} aria-label="Time">
      <div className={styles.controls}>
        <IconButton label="Previous mark" onClick={() => timeline.step(-1)} disabled={seq <= 1}>
          <ChevronLeft />
        </IconButton>
        <PlayButton timeline={timeline} playing={mode === "playing"} />
        <IconButton label="Next mark" onClick={() => timeline.step(1)} disabled={seq >= end}>
          <ChevronRight />
        </IconButton>
        {timeline.source.watch !== null && !moment.isComplete && (
          <Button
            variant={mode === "live" ? "accent" : "plain"}
            aria-pressed={mode === "live"}
            onClick={() => (mode === "live" ? timeline.pause() : timeline.follow())}
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
          aria-label="Entry of the trace"
          aria-valuetext={said}
          onChange={(event) => timeline.goTo(Number(event.target.value))}
          onKeyDown={(event) => moveByArrowKey(event, timeline)}
        />
      </div>
      <p className={styles.words}>
        <span className={styles.time}>{formatAttemptTime(ms)}</span>
        <span className={styles.place}>{`entry ${seq} of ${end}`}</span>
        <span className={isLoading ? styles.busy : ""}>{words}</span>
        <span className={styles.key} aria-hidden="true">
          {markLanes.map((lane) => (
            <span key={lane} className={styles[lane]}>
              ▌{lane}
            </span>
          ))}
        </span>
      </p>
      {moment.heldByConsole && (
        <p className={styles.note}>A console held the notebook. Only what the trace contains is shown.</p>
      )}
      {moment.problem !== null && (
        <p className={styles.problem} role="alert">
          {moment.problem}
        </p>
      )}
    </section>
  );
}

function PlayButton({ timeline, playing }: { timeline: Timeline; playing: boolean }) {
  const [speed, setSpeed] = useState<PlaybackSpeed>(1);
  const onSpeed = (next: PlaybackSpeed) => {
    setSpeed(next);
    if (playing) timeline.play(next);
  };
  return (
    <>
      <IconButton
        label={playing ? "Pause" : "Play"}
        onClick={() => (playing ? timeline.pause() : timeline.play(speed))}
      >
        {playing ? <Pause /> : <Play />}
      </IconButton>
      <select
        aria-label="Speed"
        className={styles.speed}
        value={speed}
        onChange={(event) => onSpeed(playbackSpeeds.find((one) => one === Number(event.target.value)) ?? 1)}
      >
        {playbackSpeeds.map((one) => (
          <option key={one} value={one}>{`×${one}`}</option>
        ))}
      </select>
    </>
  );
}

/**
 * Handles arrow keys of the timeline's slider: moves to the next or previous mark, with Shift by
 * ten marks.
 */
function moveByArrowKey(event: KeyboardEvent, timeline: Timeline): void {
  const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (by !== undefined) timeline.step(event.shiftKey ? by * 10 : by);
  else if (event.key === "Home") timeline.goTo(1);
  else if (event.key === "End") timeline.goTo("end");
  else return;
  event.preventDefault();
}
