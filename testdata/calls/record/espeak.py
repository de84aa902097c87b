"""Speaks a text with libespeak-ng and tells when each of its words sounds.

The times are the synthesiser's own, not guessed from the sound: it reports the
audio position at which each word and each phoneme begins. It fails with
RuntimeError when the library refuses a voice or a text.
"""

import ctypes
import dataclasses

_SYNCHRONOUS = 2
_PHONEME_EVENTS = 0x0001
_RATE = 1
_POS_CHARACTER = 1
_CHARS_UTF8 = 1
_WORD, _PHONEME, _LIST_END = 1, 7, 0


class _EventID(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _EventID),
    ]


class _Voice(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_char_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("xx1", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    ]


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


@dataclasses.dataclass
class Speech:
    """Mono 16-bit audio, and what began when: milliseconds from its first sample."""

    rate: int
    pcm: bytes
    words: list[tuple[int, int, int]]  # start, position in the text from 0, length
    phonemes: list[tuple[int, str]]  # start, mnemonic


def speak(language: str, words_per_minute: int, text: str) -> Speech:
    """Returns the text spoken by the language's voice, "es" or "en-gb". Once a
    process: the library cannot be opened twice.
    """
    return _Synthesiser(words_per_minute).speak(language, text)


class _Synthesiser:
    def __init__(self, words_per_minute: int):
        self._lib = ctypes.CDLL("libespeak-ng.so.1")
        self._rate = self._lib.espeak_Initialize(_SYNCHRONOUS, 0, None, _PHONEME_EVENTS)
        if self._rate <= 0:
            raise RuntimeError("open libespeak-ng: no data found")
        self._callback = _Callback(self._take)
        self._lib.espeak_SetSynthCallback(self._callback)
        self._lib.espeak_SetParameter(_RATE, words_per_minute, 0)

    def speak(self, language: str, text: str) -> Speech:
        self._pcm, self._words, self._phonemes = bytearray(), [], []
        voice = _Voice(languages=language.encode())
        if self._lib.espeak_SetVoiceByProperties(ctypes.byref(voice)) != 0:
            raise RuntimeError(f"choose voice {language}: refused")
        raw = text.encode()
        status = self._lib.espeak_Synth(
            raw, ctypes.c_size_t(len(raw) + 1), 0, _POS_CHARACTER, 0, _CHARS_UTF8, None, None
        )
        if status != 0:
            raise RuntimeError(f"speak {text!r}: status {status}")
        return Speech(self._rate, bytes(self._pcm), self._words, self._phonemes)

    def _take(self, wav, count, events) -> int:
        if wav and count > 0:
            self._pcm += ctypes.string_at(wav, count * 2)
        i = 0
        while events[i].type != _LIST_END:
            self._note(events[i])
            i += 1
        return 0

    def _note(self, event: _Event) -> None:
        if event.type == _WORD:
            self._words.append((event.audio_position, event.text_position - 1, event.length))
        elif event.type == _PHONEME:
            self._phonemes.append((event.audio_position, event.id.string.decode("utf-8", "replace")))
