// A visit that the server joins on the visitor's behalf: typing only.

import { request } from './problem.js';

/**
 * Joins. hear is told what happens, in the server's own events; the last one is
 * of type "end".
 */
export async function join(hear) {
  const { id } = await request('POST', '/visits', { mode: 'typed' });
  const path = `/visits/${id}`;
  const source = new EventSource(`${path}/events`);
  let over = false;
  const end = (event) => {
    if (over) return;
    over = true;
    source.close();
    removeEventListener('pagehide', leave);
    hear(event);
  };
  const leave = () => {
    request('DELETE', path).catch(() => {}); // the server's own clock ends the visit then
    end({ type: 'end', reason: 'hung_up' });
  };
  source.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (event.type === 'end') end(event);
    else if (!over) hear(event);
  };
  source.onopen = () => hear({ type: 'link', up: true });
  // The browser tries again by itself, unless the server knows the visit no more.
  source.onerror = () => (source.readyState === EventSource.CLOSED ? end({ type: 'end', reason: 'lost' }) : hear({ type: 'link', up: false }));
  addEventListener('pagehide', leave);
  return {
    type: (text) => request('POST', `${path}/messages`, { text }),
    leave,
  };
}
