// Holds what the demo measured to what it is there to show: every question is
// answered from the right file, digits are not looked up, what no file covers is
// said to be unknown, and at least nine of ten lookups began before the end of
// speech and cost their turn at most 1 ms.
import { readFileSync } from "node:fs";

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrong = report.turns.filter((turn) => !turn.right);
const lookups = report.turns.filter((turn) => turn.lookup_started_ms !== null);
const early = lookups.filter((turn) => turn.lookup_started_ms < 0 && turn.waited_ms <= 1);

for (const turn of wrong) {
  console.error(`call ${turn.call}, turn ${turn.turn}: "${turn.question}" got "${turn.answer}" from ${turn.sources}`);
}
console.log(`${report.turns.length - wrong.length} of ${report.turns.length} turns right, ${early.length} of ${lookups.length} lookups early`);
if (wrong.length > 0 || report.turns.length < 14 || early.length < 0.9 * lookups.length) {
  process.exit(1);
}
