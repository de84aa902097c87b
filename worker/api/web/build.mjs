// Copies livekit-client into dist, from where the Go build embeds it. Nothing
// is bundled: its UMD build is one file that needs no other.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';

const from = new URL('node_modules/livekit-client/', import.meta.url);
const to = new URL('dist/', import.meta.url);

await mkdir(to, { recursive: true });
const { version } = JSON.parse(await readFile(new URL('package.json', from), 'utf8'));
// Without the pointer to a source map that is not copied.
const script = await readFile(new URL('dist/livekit-client.umd.js', from), 'utf8');
await writeFile(new URL('livekit-client.umd.js', to), script.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
await copyFile(new URL('LICENSE', from), new URL('livekit-client.LICENSE.txt', to));
console.log(`livekit-client ${version} is in the page: build headstart again to embed it`);
