#!/usr/bin/env python3
"""Checks every recorded turn against its times: that a word sounds where call.json
says so, that nothing sounds where it says that nobody speaks, that the peak is
-3 dBFS. Prints one line a turn; exits 1 when one is wrong.
"""

import array
import json
import math
import pathlib
import sys
import wave

CALLS = pathlib.Path(__file__).resolve().parent.parent
SLACK_MS = 25  # a last phoneme fades, and a first plosive begins with its closure
QUIET_DBFS = -45
LOUD_DBFS = -30
BYTES_AT_MOST = 2_500_000


def main() -> int:
    wrong, size = 0, 0
    for path in sorted(CALLS.glob("*/call.json")):
        for turn in json.loads(path.read_text())["turns"]:
            wav = path.parent / turn["audio"]
            size += wav.stat().st_size
            complaints = check(wav, turn)
            wrong += len(complaints)
            print(f"{path.parent.name}/{turn['audio']}: {summary(wav, turn)}", *complaints, sep="; ")
    print(f"{size} bytes of WAV")
    return 1 if wrong or size > BYTES_AT_MOST else 0


def check(path: pathlib.Path, turn: dict) -> list[str]:
    pcm, rate = read(path)
    words, complaints = turn["words"], []
    if [w["word"] for w in words] != turn["text"].split():
        complaints.append("the words are not those of the text")
    for word in words:
        if level(pcm, rate, word["start_ms"], word["end_ms"]) < LOUD_DBFS:
            complaints.append(f"{word['word']} is silent")
    for start, end in gaps(pcm, rate, words):
        if end - start > 2 * SLACK_MS and level(pcm, rate, start + SLACK_MS, end - SLACK_MS) > QUIET_DBFS:
            complaints.append(f"{start}-{end} ms is not silent")
    first, last = edges(pcm, rate)
    if abs(first - turn["speech_start_ms"]) > 2 * SLACK_MS or abs(last - turn["speech_end_ms"]) > 2 * SLACK_MS:
        complaints.append(f"sounds from {first} to {last} ms")
    if abs(peak(pcm) + 3) > 0.1:
        complaints.append(f"peak {peak(pcm):.2f} dBFS")
    return complaints


def summary(path: pathlib.Path, turn: dict) -> str:
    pcm, rate = read(path)
    first, last = edges(pcm, rate)
    pauses = [end - start for start, end in gaps(pcm, rate, turn["words"])[1:-1]]
    return (
        f"peak {peak(pcm):.2f} dBFS, speech {turn['speech_start_ms']}-{turn['speech_end_ms']} ms, "
        f"sounds {first}-{last} ms, longest silence {silence_ms(pcm, rate)} ms, {len(pauses)} pauses"
    )


def gaps(pcm, rate: int, words: list[dict]) -> list[tuple[int, int]]:
    """Where nobody speaks: before, between words that do not touch, after."""
    marks = [0] + [ms for w in words for ms in (w["start_ms"], w["end_ms"])] + [len(pcm) * 1000 // rate]
    pairs = list(zip(marks[::2], marks[1::2]))
    return [pair for i, pair in enumerate(pairs) if pair[0] < pair[1] or i in (0, len(pairs) - 1)]


def edges(pcm, rate: int) -> tuple[int, int]:
    """The first and the last 5 ms that are not quiet."""
    loud = [ms for ms in range(0, len(pcm) * 1000 // rate, 5) if level(pcm, rate, ms, ms + 5) > QUIET_DBFS]
    return loud[0], loud[-1] + 5


def silence_ms(pcm, rate: int) -> int:
    """The longest quiet stretch inside the speech."""
    first, last = edges(pcm, rate)
    longest = run = 0
    for ms in range(first, last, 5):
        run = run + 5 if level(pcm, rate, ms, ms + 5) <= QUIET_DBFS else 0
        longest = max(longest, run)
    return longest


def level(pcm, rate: int, start_ms: int, end_ms: int) -> float:
    part = pcm[start_ms * rate // 1000 : end_ms * rate // 1000]
    power = sum(s * s for s in part) / max(len(part), 1)
    return 10 * math.log10(max(power, 1e-3) / 32768**2)


def peak(pcm) -> float:
    return 20 * math.log10(max(abs(s) for s in pcm) / 32768)


def read(path: pathlib.Path):
    with wave.open(str(path)) as w:
        if (w.getnchannels(), w.getsampwidth(), w.getframerate()) != (1, 2, 16000):
            raise SystemExit(f"{path}: not mono 16-bit 16 kHz")
        return array.array("h", w.readframes(w.getnframes())), w.getframerate()


if __name__ == "__main__":
    sys.exit(main())
