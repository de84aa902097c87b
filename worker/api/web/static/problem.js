// What goes wrong, by a code that the words know.

export class Problem extends Error {
  constructor(code, cause) {
    super(code, { cause });
    this.code = code;
  }
}

/** Sends JSON to the page's own server. Throws a Problem with the server's code. */
export async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body), keepalive: method === 'DELETE' });
  } catch (error) {
    throw new Problem('offline', error);
  }
  if (response.status === 204) return undefined;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(answer.code ?? 'other');
  return answer;
}
