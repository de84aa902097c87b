// What was said, as the page shows it. Words reach the page as text only.

import { words } from './words.js';

const near = 80; // px from the end at which the list follows new words

export class Transcript {
  #list;
  #scroll;
  #empty;
  #announcer;
  #language;
  #segments = new Map(); // by who and segment
  #pinned = true; // the list shows its end, and follows it
  #said = 0; // conversations on this page: their segments have the same names

  constructor(language) {
    this.#list = document.getElementById('transcript');
    this.#scroll = document.getElementById('scroll');
    this.#empty = document.getElementById('empty');
    this.#announcer = document.getElementById('announcer');
    this.#language = language;
    this.#scroll.addEventListener('scroll', () => (this.#pinned = this.#atEnd()));
    new ResizeObserver(() => this.#pinned && this.#toEnd()).observe(this.#scroll);
  }

  /** A new conversation begins below what there is. */
  begin() {
    this.#said++;
    this.#segments.clear();
  }

  /** Shows all the words of a segment so far. */
  show({ who, segment, text, final }) {
    let item = this.#segments.get(`${who} ${segment}`);
    if (!item && !text.trim()) return;
    item ??= this.#add(who, segment);
    item.querySelector('.words').textContent = text;
    const was = item.dataset.final;
    item.dataset.final = String(Boolean(final));
    // Readers of the screen hear a sentence once, when its words are certain.
    if (final && was !== 'true' && !segment.startsWith('typed-')) this.#announce(`${who === 'agent' ? words.agent : words.you}: ${text}`);
    if (this.#pinned) this.#toEnd();
  }

  #add(who, segment) {
    this.#empty.hidden = true;
    const item = document.createElement('li');
    item.className = who;
    const name = document.createElement('span');
    name.className = 'name';
    name.textContent = who === 'agent' ? words.agent : words.you;
    const bubble = document.createElement('p');
    bubble.className = 'words';
    bubble.dir = 'auto';
    if (this.#language) bubble.lang = this.#language;
    item.append(name, bubble);
    item.dataset.segment = segment;
    item.dataset.talk = String(this.#said);
    this.#segments.set(`${who} ${segment}`, item);
    this.#list.append(item);
    return item;
  }

  /** Marks what the agent never got. */
  takeBack(segment) {
    const item = this.#segments.get(`visitor ${segment}`);
    if (!item || item.classList.contains('undelivered')) return;
    item.classList.add('undelivered');
    const mark = document.createElement('span');
    mark.className = 'mark-failed';
    mark.textContent = words.undelivered;
    item.append(mark);
    this.#toEnd();
  }

  /** A line that nobody said: how the conversation ended. */
  note(text) {
    const item = document.createElement('li');
    item.className = 'aside';
    item.textContent = text;
    this.#list.append(item);
    this.#announce(text);
    this.#toEnd();
  }

  #announce(text) {
    const line = document.createElement('p');
    line.textContent = text;
    this.#announcer.append(line);
    while (this.#announcer.childElementCount > 20) this.#announcer.firstElementChild.remove();
  }

  #atEnd() {
    return this.#scroll.scrollHeight - this.#scroll.scrollTop - this.#scroll.clientHeight < near;
  }

  #toEnd() {
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }
}
