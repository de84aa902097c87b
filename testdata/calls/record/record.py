#!/usr/bin/env python3
"""Records the simulated callers: speaks every turn of every call.json beside this
folder, writes its WAV, and writes the times back into call.json.

It owns the fields speech_start_ms, speech_end_ms and words of a turn; the rest
is written by hand and left alone. It stops at the first text whose words the
synthesiser does not tell apart, and leaves that call's call.json as it was.
"""

import array
import functools
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import espeak

CALLS = pathlib.Path(__file__).resolve().parent.parent
VOICES = {"es-ES": "es", "en-GB": "en-gb"}
WORDS_PER_MINUTE = 150
LEAD_MS = 180  # silence before the first sound
TAIL_MS = 100  # silence after the last sound
# A comma is ~250 ms of silence to this synthesiser, as long as a voice detector
# waits before it calls the speech over; people breathe faster inside a question.
LONGEST_PAUSE_MS = 140
PEAK_DBFS = -3
AUDIBLE = 100  # of 32768: -50 dBFS
RATE = 16000


def main() -> None:
    for path in sorted(CALLS.glob("*/call.json")):
        call = json.loads(path.read_text())
        speak = functools.partial(speak_alone, VOICES[call["language"]])
        for turn in call["turns"]:
            record(speak, path.parent, turn)
        path.write_text(layout(call))


def speak_alone(language: str, text: str) -> espeak.Speech:
    """Speaks in a process of its own: the library carries state from one text to
    the next, and a changed turn would change the recordings after it.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply_async(espeak.speak, (language, WORDS_PER_MINUTE, text)).get(timeout=30)


def record(speak, folder: pathlib.Path, turn: dict) -> None:
    """Speaks one turn into its WAV and puts its times into the turn."""
    speech = speak(turn["text"])
    keep = kept(speech)
    words = timed(turn["text"], speech, keep)
    pcm = silence(speech.rate, LEAD_MS)
    for start, end in keep:
        pcm += speech.pcm[2 * at(speech.rate, start) : 2 * at(speech.rate, end)]
    turn["speech_start_ms"] = words[0]["start_ms"]
    turn["speech_end_ms"] = words[-1]["end_ms"]
    turn["words"] = words
    spoken = len(pcm) // 2 * 1000 // speech.rate
    pcm += silence(speech.rate, turn["speech_end_ms"] + TAIL_MS - spoken)
    write_wav(folder / turn["audio"], pcm, speech.rate)


def sounds(speech) -> list[tuple[int, int]]:
    """The stretches between pauses, in milliseconds of the speech."""
    stretches, began = [], None
    for start, name in speech.phonemes:
        pause = name.startswith("_")
        if not pause and began is None:
            began = start
        if pause and began is not None:
            stretches.append((began, start))
            began = None
    if began is not None:
        raise RuntimeError("find the end of the speech: no pause after it")
    # The last phoneme may end in ~50 ms of silence that it counts as its own.
    stretches[-1] = (stretches[-1][0], min(stretches[-1][1], last_sound_ms(speech)))
    return stretches


def last_sound_ms(speech) -> int:
    samples = array.array("h", speech.pcm)
    last = max(i for i, sample in enumerate(samples) if abs(sample) > AUDIBLE)
    return (last + 1) * 1000 // speech.rate


def kept(speech) -> list[tuple[int, int]]:
    """What stays of the speech: its sounds, and of each pause the first part."""
    stretches = sounds(speech)
    keep = []
    for (start, end), (following, _) in zip(stretches, stretches[1:]):
        keep.append((start, min(end + LONGEST_PAUSE_MS, following)))
    return keep + [(stretches[-1][0], min(stretches[-1][1] + TAIL_MS, length_ms(speech)))]


def timed(text: str, speech, keep) -> list[dict]:
    """The words of the text, as it is written, with their times in the recording."""
    stretches = sounds(speech)
    starts = []
    for token in re.finditer(r"\S+", text):
        inside = [ms for ms, pos, n in speech.words if n > 0 and token.start() <= pos < token.end()]
        if not inside:
            raise RuntimeError(f"time {token.group()!r} in {text!r}: not told apart")
        starts.append((inside[0], token.group()))
    ends = [ms for ms, _ in starts[1:]] + [stretches[-1][1]]
    words = []
    for (start, word), end in zip(starts, ends):
        start, end = trim(start, end, stretches)
        words.append({"word": word, "start_ms": moved(start, keep), "end_ms": moved(end, keep)})
    return words


def trim(start: int, end: int, stretches) -> tuple[int, int]:
    """A word without the pauses at its edges."""
    inside = [(max(a, start), min(b, end)) for a, b in stretches if a < end and b > start]
    return inside[0][0], inside[-1][1]


def moved(ms: int, keep) -> int:
    """Where a moment of the speech is in the recording, after the cuts."""
    offset = LEAD_MS
    for start, end in keep:
        if start <= ms <= end:
            return offset + ms - start
        offset += end - start
    raise RuntimeError(f"place {ms} ms: it was cut")


def write_wav(path: pathlib.Path, pcm: bytes, rate: int) -> None:
    """Resamples without dither, so that silence stays silent and runs repeat."""
    raw = ["-t", "raw", "-r", str(rate), "-e", "signed", "-b", "16", "-c", "1", "-"]
    effects = ["rate", "-v", str(RATE), "gain", "-n", str(PEAK_DBFS)]
    subprocess.run(
        ["sox", "-R", "-D", *raw, "-b", "16", str(path), *effects], input=pcm, check=True, timeout=30
    )


def silence(rate: int, ms: int) -> bytes:
    return bytes(2 * at(rate, max(ms, 0)))


def at(rate: int, ms: int) -> int:
    return ms * rate // 1000


def length_ms(speech) -> int:
    return len(speech.pcm) // 2 * 1000 // speech.rate


def layout(call: dict) -> str:
    """JSON with one word a line, so that a diff can be read."""
    text = json.dumps(call, ensure_ascii=False, indent=2)
    return re.sub(r"\{\s+([^{}]*?)\s+\}", lambda m: "{" + re.sub(r"\s*\n\s*", " ", m[1]) + "}", text) + "\n"


if __name__ == "__main__":
    main()
