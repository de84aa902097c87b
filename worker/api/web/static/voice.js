// A call in which this browser joins by itself, with livekit-client.

import { Problem, request } from './problem.js';

const agentPatience = 15000; // ms that a typed message waits for an agent
const settle = 3000; // ms after which an agent that tells no state is taken to listen

let library;

/** Loads livekit-client, once. */
function load() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = '/dist/livekit-client.umd.js';
    script.onload = () => {
      globalThis.LivekitClient.setLogLevel('warn');
      resolve(globalThis.LivekitClient);
    };
    script.onerror = () => {
      library = undefined;
      script.remove();
      reject(new Problem('library'));
    };
    document.head.append(script);
  });
  return library;
}

/** Asks for the microphone. It is stopped when the call that it is for fails. */
export async function microphone() {
  if (!navigator.mediaDevices?.getUserMedia) throw new Problem('insecure');
  const lk = await load();
  try {
    return await lk.createLocalAudioTrack({ echoCancellation: true, noiseSuppression: true, autoGainControl: true });
  } catch (error) {
    const codes = { NotAllowedError: 'refused', SecurityError: 'refused', NotFoundError: 'missing', OverconstrainedError: 'missing', NotReadableError: 'busy' };
    throw new Problem(codes[error?.name] ?? 'microphone', error);
  }
}

/** Joins. hear is told the same events as in typed.js, and "microphone", "sound" and "level". */
export async function join(hear) {
  const lk = await load();
  const { url, token, identity } = await request('POST', '/visits', { mode: 'browser' });
  const call = new Call(lk, identity, hear);
  try {
    await call.room.connect(url, token, here(url) ? { rtcConfig: { iceServers: [] } } : {});
  } catch (error) {
    throw new Problem('unreachable', error);
  }
  call.joined();
  return call;
}

/**
 * Tells whether LiveKit runs on this machine. Then the way needs no STUN server
 * to be found, and the one that a development server names may be its own media
 * port, from which browsers take no media once they know it as a STUN server's.
 */
function here(url) {
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}

class Call {
  #lk;
  #identity;
  #hear;
  #typed = 0;
  #latest = new Map(); // the number of the last stream of each segment
  #streams = 0;
  #joined = false;
  #over = false;
  #left = false; // by our own hand
  #listens; // resolves the promise below
  #ready = new Promise((resolve) => (this.#listens = resolve));

  constructor(lk, identity, hear) {
    this.#lk = lk;
    this.#identity = identity;
    this.#hear = (event) => this.#over || hear(event);
    this.room = new lk.Room({ adaptiveStream: false, dynacast: false });
    this.#follow();
  }

  #follow() {
    const { RoomEvent, Track } = this.#lk;
    const hear = this.#hear;
    this.room
      .on(RoomEvent.ParticipantConnected, (p) => this.#came(p))
      .on(RoomEvent.ParticipantDisconnected, (p) => p.isAgent && hear({ type: 'agent', there: false }))
      .on(RoomEvent.ParticipantAttributesChanged, (changed, p) => p.isAgent && this.#state(changed['lk.agent.state']))
      .on(RoomEvent.TrackSubscribed, (track) => track.kind === Track.Kind.Audio && document.getElementById('audio').append(track.attach()))
      .on(RoomEvent.TrackUnsubscribed, (track) => track.detach().forEach((element) => element.remove()))
      .on(RoomEvent.AudioPlaybackStatusChanged, () => hear({ type: 'sound', blocked: !this.room.canPlaybackAudio }))
      .on(RoomEvent.ActiveSpeakersChanged, (speakers) => hear({ type: 'level', level: Math.max(0, ...speakers.map((p) => p.audioLevel)) }))
      .on(RoomEvent.LocalTrackPublished, () => hear({ type: 'microphone', state: 'published' }))
      .on(RoomEvent.TrackMuted, (_, p) => p.isLocal && hear({ type: 'microphone', state: 'muted' }))
      .on(RoomEvent.TrackUnmuted, (_, p) => p.isLocal && hear({ type: 'microphone', state: 'published' }))
      .on(RoomEvent.Reconnecting, () => hear({ type: 'link', up: false }))
      .on(RoomEvent.Reconnected, () => hear({ type: 'link', up: true }))
      .on(RoomEvent.Disconnected, (reason) => this.#end(reason));
    this.room.registerTextStreamHandler('lk.transcription', (reader, from) => this.#read(reader, from.identity));
  }

  /** Tells of who was in the room first, and makes sound while the click still counts. */
  joined() {
    this.#joined = true;
    this.#hear({ type: 'link', up: true });
    for (const p of this.room.remoteParticipants.values()) this.#came(p);
    this.startSound();
  }

  #came(p) {
    if (!p.isAgent) return;
    this.#hear({ type: 'agent', there: true });
    setTimeout(this.#listens, settle);
    this.#state(p.attributes['lk.agent.state']);
  }

  #state(state) {
    if (!state) return;
    if (state !== 'initializing') this.#listens();
    this.#hear({ type: 'state', state });
  }

  /** Reads one stream. A later one of the same segment replaces its words. */
  async #read(reader, identity) {
    const segment = reader.info.attributes?.['lk.segment_id'] ?? reader.info.id;
    const who = identity === this.#identity ? 'visitor' : 'agent';
    const stream = ++this.#streams;
    this.#latest.set(segment, stream);
    let text = '';
    const show = (final) => this.#latest.get(segment) === stream && this.#hear({ type: 'transcript', who, segment, text, final });
    try {
      for await (const words of reader) {
        text += words;
        show(false);
      }
    } catch {
      // Who sent it is gone; what came of it stays.
      show(true);
      return;
    }
    show(who === 'agent' || reader.info.attributes?.['lk.transcription_final'] === 'true');
  }

  #end(reason) {
    if (!this.#joined) return; // join tells
    const { DisconnectReason } = this.#lk;
    const endings = { [DisconnectReason.ROOM_DELETED]: 'left', [DisconnectReason.PARTICIPANT_REMOVED]: 'left', [DisconnectReason.SERVER_SHUTDOWN]: 'closing', [DisconnectReason.DUPLICATE_IDENTITY]: 'elsewhere' };
    const ours = this.#left || reason === DisconnectReason.CLIENT_INITIATED;
    this.#hear({ type: 'end', reason: ours ? 'hung_up' : (endings[reason] ?? 'lost') });
    this.#over = true;
    document.getElementById('audio').replaceChildren();
  }

  /** Lets the agent hear a microphone. */
  async speak(track) {
    try {
      await this.room.localParticipant.publishTrack(track);
    } catch (error) {
      track.stop();
      throw new Problem('microphone', error);
    }
  }

  mute(silent) {
    return this.room.localParticipant.setMicrophoneEnabled(!silent);
  }

  startSound() {
    return this.room.startAudio().catch(() => {}); // the browser wants a click: the page is told
  }

  /** Sends what was typed, when an agent is there to read it. */
  async type(text) {
    const segment = `typed-${++this.#typed}`;
    this.#hear({ type: 'transcript', who: 'visitor', segment, text, final: true });
    try {
      await Promise.race([this.#ready, new Promise((_, reject) => setTimeout(() => reject(new Problem('absent')), agentPatience))]);
      // Not every agent can inflate.
      await this.room.localParticipant.sendText(text, { topic: 'lk.chat', compress: false });
    } catch (error) {
      this.#hear({ type: 'undelivered', segment });
      throw error instanceof Problem ? error : new Problem('undelivered', error);
    }
  }

  leave() {
    this.#left = true;
    return this.room.disconnect();
  }
}
