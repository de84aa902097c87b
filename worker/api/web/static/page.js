// The page: one conversation at a time, by voice where livekit-client was built
// in, else typed. Everything shown follows from the state below.

import { Problem } from './problem.js';
import { Transcript } from './transcript.js';
import * as typed from './typed.js';
import * as voice from './voice.js';
import { language, words } from './words.js';

const root = document.documentElement;
const speaks = root.dataset.voice === 'true';
const $ = (id) => document.getElementById(id);
const transcript = new Transcript(root.dataset.agentLanguage);

const absentAfter = 12000; // ms without an agent after which the page says so

const state = {
  phase: 'ready', // joining, joined, ended
  there: false, // an agent came
  agent: '', // what it says that it does
  link: true,
  microphone: 'off', // asking, published, muted
  blocked: false, // the browser plays no sound before a click
  since: 0, // when this conversation began
};
let talk; // the conversation, or the promise of one
let absent; // the timer
let ticking;

function phrase() {
  if (state.phase !== 'joined') return state.phase;
  if (!state.link) return 'reconnecting';
  return state.agent || (state.there ? 'initializing' : 'waiting');
}

function render() {
  const now = phrase();
  const open = state.phase === 'joining' || state.phase === 'joined';
  const live = state.microphone === 'published' || state.microphone === 'muted';
  $('status').dataset.state = now;
  $('status').dataset.mic = state.microphone;
  setText('status-text', words[now] ?? now);
  $('orb').dataset.state = now;
  document.body.dataset.phase = state.phase;
  $('call').hidden = open && (!speaks || live);
  $('call').disabled = state.phase === 'joining' || state.microphone === 'asking';
  setText('call-text', !speaks ? words.chat : open ? words.microphone : words.call);
  $('mute').hidden = !live;
  $('mute').setAttribute('aria-pressed', String(state.microphone === 'muted'));
  setText('mute-text', state.microphone === 'muted' ? words.unmute : words.mute);
  $('hangup').hidden = state.phase !== 'joined';
  setText('hangup-text', speaks ? words.hangup : words.leave);
  $('sound').hidden = !state.blocked || !open;
  setText('stage-title', open ? words[now] ?? now : speaks ? words.titleVoice : words.titleTyped);
  $('stage-text').hidden = open;
  $('clock').hidden = state.phase !== 'joined';
}

/** Sets text only when it changes: a status that is set again is read out again. */
function setText(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

function tick() {
  const seconds = Math.floor((Date.now() - state.since) / 1000);
  $('clock').textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function complain(error) {
  const code = error instanceof Problem ? error.code : 'other';
  if (error.cause ?? code === 'other') console.warn('headstart:', code, error.cause ?? error);
  $('alert').textContent = words.problems[code] ?? words.problems.other;
}

function hear(event) {
  switch (event.type) {
    case 'agent':
      if (event.there) seen();
      else {
        Object.assign(state, { there: false, agent: '' });
        transcript.note(words.agentLeft);
      }
      break;
    case 'state':
      seen();
      state.agent = event.state;
      break;
    case 'transcript':
      transcript.show(event);
      break;
    case 'undelivered':
      transcript.takeBack(event.segment);
      break;
    case 'link':
      state.link = event.up;
      break;
    case 'microphone':
      state.microphone = event.state;
      break;
    case 'sound':
      state.blocked = event.blocked;
      break;
    case 'level':
      $('orb').style.setProperty('--level', event.level.toFixed(3));
      return;
    case 'end':
      over(event.reason);
  }
  render();
}

/** An agent is there. */
function seen() {
  state.there = true;
  clearTimeout(absent);
  if ($('alert').textContent === words.problems.absent) $('alert').textContent = '';
}

function over(reason) {
  clearTimeout(absent);
  clearInterval(ticking);
  talk = undefined;
  Object.assign(state, { phase: 'ended', there: false, agent: '', link: true, microphone: 'off', blocked: false });
  transcript.note(words.endings[reason] ?? words.endings.lost);
  const lost = document.activeElement === $('hangup') || document.activeElement === $('mute');
  render();
  if (lost) $('call').focus();
}

/** The conversation that is open, or a new one. */
function conversation() {
  talk ??= begin();
  return talk;
}

async function begin() {
  $('alert').textContent = '';
  Object.assign(state, { phase: 'joining', there: false, agent: '', link: true });
  transcript.begin();
  render();
  try {
    const joined = await (speaks ? voice : typed).join(hear);
    if (state.phase !== 'joining') return joined; // it has ended meanwhile
    Object.assign(state, { phase: 'joined', since: Date.now() });
    tick();
    ticking = setInterval(tick, 1000);
    if (!state.there) absent = setTimeout(() => complain(new Problem('absent')), absentAfter);
    return joined;
  } catch (error) {
    talk = undefined;
    state.phase = 'ended';
    throw error;
  } finally {
    render();
  }
}

/** Opens a conversation, with the microphone where the page speaks. */
async function call() {
  $('alert').textContent = '';
  let track;
  try {
    if (speaks) {
      state.microphone = 'asking';
      render();
      track = await voice.microphone();
    }
    const open = await conversation();
    await open.speak?.(track);
    (speaks ? $('mute') : $('text')).focus();
  } catch (error) {
    track?.stop();
    state.microphone = 'off';
    complain(error);
  } finally {
    render();
  }
}

async function send(event) {
  event.preventDefault();
  const text = $('text').value.trim();
  if (!text) return;
  $('text').value = '';
  grow();
  $('alert').textContent = '';
  try {
    await (await conversation()).type(text);
  } catch (error) {
    if (!$('text').value && error.code !== 'absent') $('text').value = text; // not to be typed again
    grow();
    complain(error);
  }
}

/** The box is as tall as its text, up to a third of the page. */
function grow() {
  const box = $('text');
  box.style.height = 'auto';
  box.style.height = `${Math.min(box.scrollHeight, innerHeight / 3)}px`;
}

function enter(event) {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $('composer').requestSubmit();
}

function fill() {
  root.lang = language;
  const lines = {
    'stage-text': speaks ? words.leadVoice : words.leadTyped,
    'talk-title': words.conversation, 'empty-text': words.empty, 'text-label': words.message, 'send-text': words.send, sound: words.sound,
  };
  for (const [id, text] of Object.entries(lines)) $(id).textContent = text;
  $('text').placeholder = words.placeholder;
  document.body.dataset.mode = speaks ? 'voice' : 'typed';
  if (speaks) return;
  $('voice-note')?.remove(); // nobody speaks here
  const [before, after] = words.build.split('{code}');
  const code = document.createElement('code');
  code.textContent = 'make web';
  $('build-note').append(before, code, after);
  $('build-note').hidden = false;
}

fill();
render();
$('call').addEventListener('click', call);
$('hangup').addEventListener('click', async () => (await talk)?.leave());
$('mute').addEventListener('click', async () => (await talk)?.mute(state.microphone === 'published'));
$('sound').addEventListener('click', async () => (await talk)?.startSound());
$('composer').addEventListener('submit', send);
$('text').addEventListener('keydown', enter);
$('text').addEventListener('input', grow);
root.dataset.loaded = 'true';
